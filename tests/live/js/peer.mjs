// A server of the JavaScript SDK (@a2a-js/sdk, express) in several variants, each on a loopback port of its own.
//
// Run by the live tests: `node peer.mjs CERTIFICATE KEY`. It prints one line of JSON, variant → base URL, when all of
// them listen, and ends when its standard input does, so it never outlives the tests.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

import { AGENT_CARD_PATH, generateAgentCardSignature, Role } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, UnauthenticatedUser } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import express from 'express';

const TOKEN = 'live-token';
const KID = 'js-peer-1';
const JWKS_PATH = '/.well-known/jwks.json';

const VARIANTS = {
  unsigned: {},
  'rest-first': { bindings: ['HTTP+JSON', 'JSONRPC'] },
  signed: { signed: true },
  'signed-open': { signed: true, schemes: false },
  compat: { signed: true, legacy: true },
  'compat-unsigned': { legacy: true },
  'no-cache': { maxAge: 0 },
  'no-extended': { declaresExtended: false },
  'not-configured': { hasExtended: false },
  http: { tls: false },
};

// The typed card: `$case` is how the SDK's own types spell a oneof, and how its card route puts it on the wire.
const SCHEMES = {
  bearer: {
    scheme: {
      $case: 'httpAuthSecurityScheme',
      value: { description: '', scheme: 'Bearer', bearerFormat: 'opaque' },
    },
  },
  key: {
    scheme: {
      $case: 'apiKeySecurityScheme',
      value: { description: 'One a team', location: 'header', name: 'X-Key' },
    },
  },
  machine: {
    scheme: {
      $case: 'oauth2SecurityScheme',
      value: {
        description: '',
        oauth2MetadataUrl: '',
        flows: {
          flow: {
            $case: 'clientCredentials',
            value: { tokenUrl: 'https://login.example/token', refreshUrl: '', scopes: { read: 'Read' } },
          },
        },
      },
    },
  },
};

function publicCard(base, variant) {
  const bindings = variant.bindings ?? ['JSONRPC', 'HTTP+JSON'];
  const versions = variant.legacy ? ['1.0', '0.3'] : ['1.0'];
  const schemes = variant.schemes === false ? {} : SCHEMES;
  return {
    name: 'JavaScript peer · señal',
    description: 'Answers the live tests.',
    version: '2.1.0',
    provider: { organization: 'Live tests', url: `${base}/about` },
    supportedInterfaces: versions.flatMap((protocolVersion) =>
      bindings.map((protocolBinding) => ({
        url: protocolBinding === 'JSONRPC' ? `${base}/rpc` : `${base}/rest`,
        protocolBinding,
        protocolVersion,
        tenant: '',
      })),
    ),
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: variant.declaresExtended !== false,
      extensions: [],
    },
    securitySchemes: schemes,
    securityRequirements: variant.schemes === false ? [] : [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [skill('echo', 'Echo', 'Says it again.')],
    signatures: [],
  };
}

function skill(id, name, description) {
  return {
    id,
    name,
    description,
    tags: ['test'],
    examples: [],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  };
}

// The agent behind the card: it says again what it is told, and by whom.
const echo = {
  execute: async (request, bus) => {
    const text = request.userMessage.parts.map((part) => part.content?.value ?? '').join('');
    const name = request.context?.user?.userName || 'a stranger';
    bus.publish(
      AgentEvent.message({
        messageId: randomUUID(),
        contextId: request.contextId,
        taskId: '',
        role: Role.ROLE_AGENT,
        parts: [
          {
            content: { $case: 'text', value: `${text} | ${name}` },
            metadata: undefined,
            filename: '',
            mediaType: 'text/plain',
          },
        ],
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      }),
    );
    bus.finished();
  },
  cancelTask: async () => {},
};

async function userBuilder(request) {
  if (request.header('authorization') !== `Bearer ${TOKEN}`) return new UnauthenticatedUser();
  return { isAuthenticated: true, userName: 'tester' };
}

function application(base, variant) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: KID, alg: 'ES256', use: 'sig' }] };
  const signer = variant.signed
    ? generateAgentCardSignature(privateKey, { alg: 'ES256', kid: KID, typ: 'JOSE', jku: base + JWKS_PATH })
    : undefined;
  const card = publicCard(base, variant);
  const extended = {
    ...card,
    skills: [...card.skills, skill('audit', 'Audit', 'Only for people with a token.')],
  };
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    echo,
    undefined,
    undefined,
    undefined,
    variant.hasExtended === false ? undefined : extended,
    signer,
  );
  const legacyCompat = { enabled: variant.legacy === true };
  const app = express();
  app.get(JWKS_PATH, (_request, response) => response.set('Cache-Control', 'max-age=300').json(keys));
  app.use(
    `/${AGENT_CARD_PATH}`,
    agentCardHandler({
      agentCardProvider: requestHandler,
      legacyCompat,
      cache: variant.maxAge === undefined ? undefined : { maxAge: variant.maxAge },
    }),
  );
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));
  app.use('/rest', restHandler({ requestHandler, userBuilder, legacyCompat }));
  return app;
}

function serve(variant, tls) {
  const secure = variant.tls !== false;
  let app;
  const answer = (request, response) => app(request, response);
  const server = secure ? https.createServer(tls, answer) : http.createServer(answer);
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const base = `${secure ? 'https' : 'http'}://localhost:${server.address().port}`;
      app = application(base, variant);
      resolve(base);
    });
  });
}

const [certificate, key] = process.argv.slice(2);
const tls = { cert: readFileSync(certificate), key: readFileSync(key) };
// What the SDK says about the strangers that the tests send is of no interest; a crash still ends the process.
console.error = console.warn = console.info = () => {};
const urls = {};
for (const [name, variant] of Object.entries(VARIANTS)) urls[name] = await serve(variant, tls);
console.log(JSON.stringify(urls));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
