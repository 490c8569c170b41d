"""The model against the definition it follows, and what a value of it can and cannot do."""

from __future__ import annotations

import json
import pickle
from typing import Any, get_args

import pydantic
import pytest
from pydantic.alias_generators import to_camel

from a2a_discovery._card import model
from a2a_discovery._card.shapes import ONE_OF, SHAPES

a2a_pb2 = pytest.importorskip("a2a.types.a2a_pb2")

MESSAGES = sorted(SHAPES)


def descriptor(message: str) -> Any:
    return a2a_pb2.DESCRIPTOR.message_types_by_name[message]


def required_by_proto(field: Any) -> bool:
    return any(
        option.name == "field_behavior" and 2 in value  # google.api.FieldBehavior.REQUIRED
        for option, value in field.GetOptions().ListFields()
    )


@pytest.mark.parametrize("message", MESSAGES)
def test_tables_and_model_have_the_members_of_the_definition(message):
    proto = {field.json_name for field in descriptor(message).fields}

    assert set(SHAPES[message].members) == proto
    assert {to_camel(name) for name in getattr(model, message).model_fields} == proto


@pytest.mark.parametrize("message", MESSAGES)
def test_tables_and_model_agree_on_what_is_required(message):
    proto = {field.json_name for field in descriptor(message).fields if required_by_proto(field)}

    assert set(SHAPES[message].required) == proto
    fields = getattr(model, message).model_fields
    assert {to_camel(name) for name, field in fields.items() if field.is_required()} == proto


@pytest.mark.parametrize("message", MESSAGES)
def test_the_spellings_are_those_of_the_definition(message):
    proto = {field.name: field.json_name for field in descriptor(message).fields if field.name != field.json_name}

    assert proto.items() <= SHAPES[message].spellings.items()


def test_the_kinds_of_a_scheme_are_the_members_of_the_oneof():
    assert {to_camel(kind) for kind in get_args(model.SchemeKind)} == set(ONE_OF)


def test_a_card_cannot_be_changed(v1, read):
    card = read(v1).card

    with pytest.raises(pydantic.ValidationError):
        card.name = "another"
    assert isinstance(card.skills, tuple)
    assert isinstance(card.skills[0].tags, tuple)


def test_json_of_a_card_is_camel_case_and_keeps_unknown_members(v1, read):
    v1 |= {"x-own": {"a": [None]}, "model_config": 1, "json": 2}
    v1["supportedInterfaces"][0]["tenant"] = "t"
    card = read(v1).card

    assert json.loads(card.model_dump_json(exclude_unset=True)) == v1
    assert card.model_extra == {"x-own": {"a": [None]}, "model_config": 1, "json": 2}
    assert card.supported_interfaces[0].protocol_binding == "JSONRPC"


def test_a_card_can_be_written_in_python():
    interface = model.AgentInterface(
        url="https://ferry.example", protocol_binding="JSONRPC", protocol_version="1.0", tenant="t"
    )

    assert interface.model_dump() == {
        "url": "https://ferry.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t",
    }  # fmt: skip
    assert pickle.loads(pickle.dumps(interface)) == interface


def test_an_error_of_the_model_does_not_show_the_value():
    with pytest.raises(pydantic.ValidationError) as refusal:
        model.AgentInterface.model_validate({"url": ["a secret"], "protocolBinding": "x", "protocolVersion": "1.0"})

    assert "a secret" not in str(refusal.value)


def test_presence_can_be_told_where_the_definition_tells_it(v1, read):
    v1["capabilities"] = {"pushNotifications": False}

    card = read(v1).card

    assert (card.capabilities.streaming, card.capabilities.push_notifications) == (None, False)
    assert card.icon_url is None
    assert card.supported_interfaces[0].tenant == ""
