// Signs and verifies cards with the JavaScript SDK (@a2a-js/sdk), for the tests of signatures.
//
// Run as `node sign.mjs`. It reads one JSON list of orders from its standard input, writes the list of their results to
// its standard output, and ends. An order is one of
//
//   { "sign": card, "header": protected header, "as": "json" | "typed" }  ->  { "card", "jwk" }
//   { "verify": card, "keys": [jwk] }                                     ->  { "verified": true }
//
// and whatever the SDK refuses becomes { "error": message }.

import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import { createPublicKey, createSecretKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';

const CURVES = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521', ES256K: 'secp256k1' };

const made = {};

// The private key, and the public one as a JWK; for HMAC they are one. RSA keys are dear: there is one.
function makeKeys(alg) {
  if (alg.startsWith('HS')) {
    const secret = createSecretKey(randomBytes(64));
    return { signs: secret, jwk: secret.export({ format: 'jwk' }) };
  }
  const { privateKey, publicKey } = alg.startsWith('Ed')
    ? generateKeyPairSync('ed25519')
    : CURVES[alg]
      ? generateKeyPairSync('ec', { namedCurve: CURVES[alg] })
      : (made.rsa ??= generateKeyPairSync('rsa', { modulusLength: 2048 }));
  return { signs: privateKey, jwk: publicKey.export({ format: 'jwk' }) };
}

async function sign(order) {
  const { signs, jwk } = makeKeys(order.header.alg);
  const card = order.as === 'typed' ? AgentCard.fromJSON(order.sign) : order.sign;
  const signed = await generateAgentCardSignature(signs, order.header)(card);
  // A typed card goes out as it is, `$case` included: so does the SDK's own card route.
  return { card: signed, jwk: { ...jwk, kid: order.header.kid } };
}

async function verify(order) {
  const keys = Object.fromEntries(order.keys.map((jwk) => [jwk.kid, createPublicKey({ key: jwk, format: 'jwk' })]));
  await verifyAgentCardSignature(async (kid) => keys[kid])(order.verify);
  return { verified: true };
}

console.debug = () => {}; // the SDK says there why a signature is wrong
const results = [];
for (const order of JSON.parse(await text(process.stdin))) {
  try {
    results.push(await (order.sign ? sign(order) : verify(order)));
  } catch (error) {
    results.push({ error: String(error?.message ?? error) });
  }
}
process.stdout.write(JSON.stringify(results));
