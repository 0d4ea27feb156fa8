"""Settings: file < environment < command line, each value's origin known, secrets never shown."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from edgarmill.schemas import settings as module
from edgarmill.schemas.errors import SettingsError
from edgarmill.schemas.settings import Settings, load, secrets

SECRET = "hf_verySecretToken"


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder and no variable of ours."""
    import os

    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("EDGARMILL_"):
            monkeypatch.delenv(name)


def write(text: str, name: str = "edgarmill.toml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize("address", ["http://me:hidden@mirror.example", "https://hidden@mirror.example", "http://mirror.example/?key=hidden",
                                     "http://mirror.example:99999", "http://[::1", "http://:80"])
def test_an_address_that_is_none_or_holds_a_secret_is_refused_without_telling_it(address: str) -> None:
    """It would stand in table `received`, once for every file."""
    with pytest.raises(SettingsError, match="edgar_url") as caught:
        load({"edgar_url": address})
    assert "hidden" not in str(caught.value)
    assert load({"edgar_data_url": "http://[::1]:8080/base"})[0].edgar_data_url == "http://[::1]:8080/base"


def test_without_anything_every_value_is_its_default() -> None:
    found, origins = load()
    assert found == Settings()
    assert set(origins) == set(Settings.model_fields)
    assert set(origins.values()) == {"default"}


@pytest.mark.parametrize(("file", "environment", "given", "value", "origin"), [
    ("one", None, None, "one", "file edgarmill.toml"),
    (None, "two", None, "two", "environment EDGARMILL_LAKE"),
    (None, None, "three", "three", "command line"),
    ("one", "two", None, "two", "environment EDGARMILL_LAKE"),
    ("one", None, "three", "three", "command line"),
    (None, "two", "three", "three", "command line"),
    ("one", "two", "three", "three", "command line"),
    ("one", "", None, "", "environment EDGARMILL_LAKE"),
])
def test_the_stronger_source_wins_and_is_named(monkeypatch: pytest.MonkeyPatch, file: str | None, environment: str | None,
                                               given: str | None, value: str, origin: str) -> None:
    if file is not None:
        write(f'lake = "{file}"')
    if environment is not None:
        monkeypatch.setenv("EDGARMILL_LAKE", environment)
    found, origins = load({"lake": given})
    assert (found.lake, origins["lake"]) == (value, origin)
    assert {o for name, o in origins.items() if name != "lake"} == {"default"}


def test_a_variable_in_lower_case_counts_as_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    write('lake = "one"')
    monkeypatch.setenv("edgarmill_lake", "two")
    found, origins = load()
    assert (found.lake, origins["lake"]) == ("two", "environment edgarmill_lake")


def test_the_file_is_named_by_argument_before_environment_before_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write('lake = "here"')
    assert load()[0].lake == "here"
    monkeypatch.setenv("EDGARMILL_CONFIG", write('lake = "there"', "there.toml"))
    assert load()[0].lake == "there"
    found, origins = load(file=write('lake = "named"', "named.toml"))
    assert (found.lake, origins["lake"]) == ("named", "file named.toml")


def test_values_are_typed_from_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    write("workers = 3\ncpu_dollars_per_hour = 0.04")
    monkeypatch.setenv("EDGARMILL_GPU_DOLLARS_PER_HOUR", "2.50")
    found, _ = load({"request_retries": "7"})
    assert (found.workers, found.request_retries) == (3, 7)
    assert (found.cpu_dollars_per_hour, found.gpu_dollars_per_hour) == (Decimal("0.04"), Decimal("2.50"))


@pytest.mark.parametrize(("text", "words"), [
    ("requests_per_second = 11", "requests_per_second: .*10"), ("lak = 'x'", "lak: Extra"), ("workers = 'many'", "workers: .*integer"),
    ("engine = 'spark'", "engine: .*'auto', 'loop' or 'ray'"), ("workers = ", "settings file is not TOML"),
    ("[lake]\nx = 1", "lake: .*string"),
])
def test_a_bad_file_is_one_line_that_names_the_setting_and_the_file(text: str, words: str) -> None:
    write(text)
    with pytest.raises(SettingsError, match=words) as caught:
        load()
    assert caught.value.subject == "edgarmill.toml"
    assert "\n" not in str(caught.value)


def test_errors_name_the_source_of_the_bad_value(monkeypatch: pytest.MonkeyPatch) -> None:
    write("workers = 2")
    monkeypatch.setenv("EDGARMILL_WORKERS", "many")
    with pytest.raises(SettingsError) as caught:
        load()
    assert caught.value.subject == "EDGARMILL_WORKERS"
    with pytest.raises(SettingsError) as caught:
        load({"workers": "some"})
    assert caught.value.subject == "command line"


def test_an_unreadable_or_missing_file_is_named(tmp_path: Path) -> None:
    for bad in ("nowhere.toml", str(tmp_path)):
        with pytest.raises(SettingsError) as caught:
            load(file=bad)
        assert caught.value.subject == bad
    Path("latin.toml").write_bytes("lake = 'Zoë'".encode("latin-1"))
    with pytest.raises(SettingsError, match="latin.toml"):
        load(file="latin.toml")


def shown(value: Any) -> str:
    return f"{value!r} {value} {value.model_dump()} {value.model_dump_json()}"


@pytest.mark.parametrize("source", ["file", "environment", "command line"])
def test_a_secret_is_masked_wherever_settings_are_shown(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    if source == "file":
        write(f'hub_token = "{SECRET}"')
    if source == "environment":
        monkeypatch.setenv("EDGARMILL_HUB_TOKEN", SECRET)
    found, origins = load({"hub_token": SECRET if source == "command line" else None})
    assert found.hub_token is not None
    assert found.hub_token.get_secret_value() == SECRET
    assert SECRET not in shown(found)
    assert SECRET not in str(origins)
    assert secrets() == {"endpoints", "hub_token", "promotion_secret", "service_keys"}


@pytest.mark.parametrize("text", [f'hub_token = ["{SECRET}"]', f'hub_token = "{SECRET}', f'hub_token = {SECRET}',
                                  f'hub_token.x = "{SECRET}"', f'hub_tokn = "{SECRET}"', f'hub_token = "{SECRET}"\nhub_token = "{SECRET}"',
                                  f'lake = ["{SECRET}"]'])
def test_a_secret_is_never_in_an_error(text: str) -> None:
    import traceback

    write(text)
    with pytest.raises(SettingsError) as caught:
        load()
    assert SECRET not in "".join(traceback.format_exception(caught.value)).replace(text, "")
    assert SECRET not in repr(caught.value)


def test_settings_cannot_be_changed_and_are_no_global() -> None:
    found, _ = load()
    with pytest.raises(ValueError, match="frozen"):
        found.lake = "elsewhere"
    assert not [name for name, value in vars(module).items() if isinstance(value, Settings)]


def test_every_setting_says_what_it_is() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name


ENDPOINT = """
[endpoints.house]
base_url = "http://127.0.0.1:8000/v1/"
model = "small"
key_env = "HOUSE_KEY"
requests_per_minute = 60
[[prices]]
provider = "house"
models = ["small"]
input = 0.1
source = "contract"
"""


def test_an_endpoint_is_a_table_of_the_file_and_its_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write(ENDPOINT)
    assert load()[0].endpoints["house"].key is None
    monkeypatch.setenv("HOUSE_KEY", SECRET)
    found, origins = load()
    house = found.endpoints["house"]
    assert house.key is not None
    assert (house.key.get_secret_value(), house.provider, house.base_url) == (SECRET, "house", "http://127.0.0.1:8000/v1")
    assert found.prices[0].input == Decimal("0.1")
    assert origins["endpoints"] == "file edgarmill.toml"
    assert SECRET not in shown(found)


@pytest.mark.parametrize("wrong", [f'key = ["{SECRET}"]', f'base_url = "http://me:{SECRET}@host/v1"', f'base_url = "http://host/v1?key={SECRET}"',
                                   f'key = "{SECRET}"\nretries = "{SECRET}"', f'key = "{SECRET}"', 'base_url = "file:///etc/passwd"'])
def test_a_wrong_endpoint_is_told_by_its_place_and_without_its_secret(wrong: str) -> None:
    write(f'[endpoints.house]\n{wrong}\n')
    with pytest.raises(SettingsError, match=r"endpoints\.house\.") as caught:
        load()
    assert SECRET not in str(caught.value)
