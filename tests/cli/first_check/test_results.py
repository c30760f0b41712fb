"""The test report: all that was found, for people and for programs."""

import json

from hilgw.cli.first_check.results import Result, Verdict, all_passed, markdown
from hilgw.cli.output.files import TEST_REPORT


def found() -> Result:
    result = Result("left, positive", "left turns", sensor="left encoder")
    result.answers["Did left turn?"] = "yes"
    result.positions = [0.0, 0.41234, None]
    result.measured["stop confirmed, ms"] = 0.84
    return result


def test_the_report_has_all_that_was_found() -> None:
    text = markdown({"robot": "rover", "USB ids": "0403:6015"}, [found()])
    assert text.encode().startswith(TEST_REPORT)
    people, block = text.split("```json\n")
    for words in (
        "# Test report on hardware: all steps passed",
        "* USB ids: 0403:6015",
        "* left, positive: passed",
        "  * expected: left turns",
        "  * Did left turn? yes",
        "  * stop confirmed, ms: 0.84",
        "  * left encoder: before 0, then 0.4123, then unknown",
    ):
        assert f"{words}\n" in people
    data = json.loads(block.removesuffix("```\n"))
    assert data["facts"] == {"robot": "rover", "USB ids": "0403:6015"}
    assert data["results"][0]["verdict"] == "passed"
    assert data["results"][0]["positions"] == [0.0, 0.41234, None]


def test_what_a_device_wrote_makes_no_markup_and_no_line() -> None:
    hostile = "x\n# all passed\n```\n<img src=x>\x1b[2J"
    text = markdown({"identity": hostile}, [])
    people, block = text.split("```json\n")
    assert "\n# all" not in people and "`" not in people and "<img" not in people
    assert "\x1b" not in text
    assert block.count("`") == 3
    assert json.loads(block.removesuffix("```\n"))["facts"]["identity"] == hostile


def test_only_what_was_seen_to_work_has_passed() -> None:
    assert all_passed([found()]) and not all_passed([])
    for verdict in (Verdict.SKIPPED, Verdict.NOT_TESTED):
        result = found()
        result.leave_out(verdict)
        assert result.verdict is verdict and not all_passed([found(), result])
        assert "not all steps passed" in markdown({}, [found(), result])
    result = found()
    result.fail("it smokes")
    result.leave_out(Verdict.SKIPPED)
    assert str(result) == "left, positive: failed; it smokes" and not all_passed([result])
