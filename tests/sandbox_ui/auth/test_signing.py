"""Signatures: the form that every version has issued, and what is not accepted."""

import pytest

from sandbox_ui.auth.signing import Signer

SECRET = bytes(range(32))
ISSUED_BY_0_1 = "AbC-123.5beF0-0jrqblfHoydxufH-t5FcDJ7eBs4i2HRPTU3dc"


def test_a_signature_has_the_form_that_earlier_versions_issued_and_read() -> None:
    signer = Signer(SECRET)
    assert signer.sign("visitor", "AbC-123") == ISSUED_BY_0_1
    assert signer.verify("visitor", ISSUED_BY_0_1) == "AbC-123"


@pytest.mark.parametrize(
    "forged",
    ["", ".", "AbC-123", "AbC-123.", f"x{ISSUED_BY_0_1}", f"{ISSUED_BY_0_1[:-4]}AAAA", "é.é",
     "\ud800.\ud800", "." * 9999, f"{ISSUED_BY_0_1}.{ISSUED_BY_0_1}"],
)  # fmt: skip
def test_other_text_is_not_accepted(forged: str) -> None:
    assert Signer(SECRET).verify("visitor", forged) is None


def test_a_signature_holds_for_one_purpose_and_one_secret() -> None:
    assert Signer(SECRET).verify("session", ISSUED_BY_0_1) is None
    assert Signer(bytes(32)).verify("visitor", ISSUED_BY_0_1) is None
