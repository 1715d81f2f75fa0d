"""Ctrl-C while Spark runs, without Java: who stops the session, and what is said."""

from __future__ import annotations

import logging
import signal
import threading

import pytest

from discreet.publish.engines.spark import session as spark_session


class Session:
    """Knows in which thread it was stopped."""

    stopped: threading.Thread | None = None

    def stop(self) -> None:
        self.stopped = threading.current_thread()


def test_an_interrupted_session_is_stopped_by_another_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = Session()
    monkeypatch.setattr(spark_session, "spark_session", lambda *_, **__: session)

    def interrupted() -> None:
        with spark_session.running():
            logging.error("KeyboardInterrupt while sending command.")
            logging.error("another thing")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert session.stopped not in (None, threading.current_thread())
    assert caplog.messages == ["another thing"]
    logging.error("KeyboardInterrupt, told by somebody else")
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("error", [None, ValueError])
def test_any_other_session_is_stopped_where_it_was_begun(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception] | None
) -> None:
    session = Session()
    monkeypatch.setattr(spark_session, "spark_session", lambda *_, **__: session)
    try:
        with spark_session.running():
            if error is not None:
                raise error
    except ValueError:
        assert error is not None
    assert session.stopped is threading.current_thread()


def test_spark_does_not_take_over_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what it is where nobody has had it ignored
    with spark_session._own_interrupts():
        signal.signal(signal.SIGINT, lambda *_: None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
