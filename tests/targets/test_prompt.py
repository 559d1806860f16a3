"""Prompts, given to the handler of the program."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.targets.calls import functions_here, new_call
from quarterjack import Context, Err
from quarterjack.targets.call import Answer
from quarterjack.targets.prompt import PromptTarget


def answered(handler: Any, owner: str | None = "ada") -> Answer:
    fields = {"prompt": "Check the queue", "model": "small", "opts": {"depth": 1}}
    call = new_call(**fields)._replace(owner=owner)
    return asyncio.run(PromptTarget(handler, functions_here({("prompt", ""): handler})).act(call))


@pytest.mark.mission("E9")
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("owner", ["ada", None])
def test_a_handler_is_called_in_the_name_of_the_owner(is_async: bool, owner: str | None):
    async def later(prompt: str, *, model: str, opts: Any, user: str | None) -> list[Any]:
        return [prompt, model, opts, user]

    def now(prompt: str, model: str, opts: Any, user: str | None) -> list[Any]:
        return [prompt, model, opts, user]

    result = answered(later if is_async else now, owner).result

    assert result == ["Check the queue", "small", {"depth": 1}, owner]


def test_a_handler_may_take_the_context_and_whatever_else_it_is_given():
    def handler(context: Context, prompt: str, **options: Any) -> list[Any]:
        return [context.owner, prompt, sorted(options)]

    assert answered(handler).result == ["ada", "Check the queue", ["model", "opts", "user"]]


def test_the_answer_of_a_handler_is_that_of_the_run():
    async def busy(prompt: str, **options: Any) -> Err:
        return Err("overloaded", retry_after=30)

    answer = answered(busy)

    assert (answer.code, answer.retryable, answer.retry_after) == ("overloaded", True, 30_000_000)
