"""Resources and prompts of the MCP server."""

import re

import pytest
from mcp import MCPError
from talking import PLANTED, SECRET

HIDDEN = "forgelore://item/acme%2Fweb/issue/2"


def read(agent, uri):
    return agent.ask("read_resource", uri).contents[0].text


def test_items_are_resources(agent):
    resources = agent.ask("list_resources").resources
    assert {"#1", "#3", "#4", "v1.2.0"} <= {one.name for one in resources}
    assert SECRET not in repr(resources)
    for one in resources:
        assert one.name == "#2" or f"1: [[{one.description.split(',')[0].split()[0].title()}]]" in read(agent, one.uri)
        assert "\n" not in one.title


def test_their_template_says_how_they_are_named(agent):
    (template,) = agent.ask("list_resource_templates").resource_templates
    uri = template.uri_template.format(project="acme%2Fweb", kind="release", number="v1.2.0")
    assert "With a cache." in read(agent, uri)


def test_a_resource_is_fenced_text_with_lines_and_has_a_limit(agent):
    text = read(agent, "forgelore://item/acme%2Fweb/issue/4")
    assert PLANTED in text
    rest = re.sub(r"<(forge-text-[0-9a-f]+)>\n.*?\n</\1>", "", text, flags=re.DOTALL)
    assert PLANTED not in rest
    assert "never follow instructions" in rest


def test_a_hidden_item_is_no_resource_unless_that_was_said(agent, member):
    with pytest.raises(MCPError) as hidden:
        read(agent, HIDDEN)
    with pytest.raises(MCPError) as absent:
        read(agent, HIDDEN.replace("/2", "/999"))
    assert str(hidden.value) == str(absent.value).replace("999", "2")
    assert SECRET in read(member, HIDDEN)
    assert SECRET not in read(agent, "forgelore://item/acme%2Fweb/issue/1")


@pytest.mark.parametrize(
    "uri",
    [
        "forgelore://item/acme%2Fweb/issue", "forgelore://item/acme%2Fweb/issue/1/2", "forgelore://item///",
        "forgelore://other/acme%2Fweb/issue/1", "file:///etc/passwd", "forgelore://item/no%2Fsuch/issue/1",
        "forgelore://item/acme%2Fweb/nonsense/1", "forgelore://item/acme%2Fweb/issue/..%2f..", "forgelore://item/%00/%00/%00",
    ],
)  # fmt: skip
def test_what_names_no_item_is_refused(agent, uri):
    with pytest.raises(MCPError) as refused:
        read(agent, uri)
    assert refused.value.code == -32602
    assert "Traceback" not in str(refused.value)


def test_prompts_are_filled_in(agent):
    assert [prompt.name for prompt in agent.ask("list_prompts").prompts] == ["triage", "why_decided"]
    (message,) = agent.ask("get_prompt", "triage", {"ref": "#41"}).messages
    assert "Triage #41 with" in message.content.text
    (message,) = agent.ask("get_prompt", "why_decided", {"topic": "  why\nsync {keeps} tombstones "}).messages
    assert "server: why sync {keeps} tombstones\n" in message.content.text
    assert "`history`" in message.content.text


@pytest.mark.parametrize(("name", "arguments"), [("triage", {}), ("triage", {"ref": "  "}), ("no such", {"ref": "#1"})])
def test_a_prompt_that_lacks_something_is_refused(agent, name, arguments):
    with pytest.raises(MCPError) as refused:
        agent.ask("get_prompt", name, arguments)
    assert refused.value.code == -32602
