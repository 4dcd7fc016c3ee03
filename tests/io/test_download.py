"""Downloads against a server on this machine that does everything servers do wrong."""

from __future__ import annotations

import hashlib
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pgt.cli.parser import main
from pgt.io import resume
from pgt.io.download import LICENCE, NAME, download_geolife
from pgt.io.fixes import read_fixes

from pgt.errors import DataError

from .test_fixes import some_fixes

Headers = dict[str, str]
# What a server answers: the status, its headers, its body, and after how many bytes it hangs up.
Answer = tuple[int, Headers, bytes, int | None]


@dataclass
class Server:
    """A list of answers, one a request; the last one is repeated."""

    url: str
    answers: list[Callable[[Headers], Answer]] = field(default_factory=list)
    asked: list[Headers] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {key.lower(): value for key, value in self.headers.items()}
            state.asked.append(headers)
            answer = state.answers.pop(0) if len(state.answers) > 1 else state.answers[0]
            status, more, body, cut = answer(headers)
            self.send_response(status)
            for key, value in ({"Content-Length": str(len(body))} | more).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body[:cut])
            self.wfile.flush()
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}/g.zip"
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def archive(seed: int = 0, extra: zipfile.ZipInfo | None = None) -> bytes:
    """A small archive in the layout of GeoLife, with a member that does not compress."""
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as zipped:
        zipped.writestr("Data/000/Trajectory/20081023025304.plt", trajectory(seed))
        zipped.writestr("User Guide.pdf", np.random.default_rng(seed).bytes(20_000))
        if extra is not None:
            zipped.writestr(extra, b"x")
    return data.getvalue()


def trajectory(seed: int) -> bytes:
    from .test_fixes import plt

    return plt(some_fixes((0,), seed=seed))


WHOLE, OTHER = archive(), archive(1)


def serve(
    body: bytes = WHOLE, *, cut: int | None = None, etag: str | None = '"one"', ranges: bool = True,
    if_range: bool = True, **headers: str,
) -> Callable[[Headers], Answer]:  # fmt: skip
    """Answer as a good server would, except where told otherwise."""

    def answer(asked: Headers) -> Answer:
        more = headers | ({"ETag": etag} if etag else {})
        first = re.fullmatch(r"bytes=(\d+)-", asked.get("range", ""))
        same = not if_range or asked.get("if-range", etag) == etag
        if first is None or not ranges or not same:
            return 200, more, body, cut
        start = int(first[1])
        if start >= len(body):
            return 416, {"Content-Range": f"bytes */{len(body)}"}, b"", None
        more.pop("Content-Length", None)
        more["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return 206, more, body[start:], cut

    return answer


def fails(status: int) -> Callable[[Headers], Answer]:
    return lambda _: (status, {}, b"sorry", None)


def download(server: Server, folder: Path, **options: Any) -> Path:
    """Accept the terms, expect one trajectory, do not wait."""
    fixed = {"accept_licence": True, "n_trajectories": 1, "wait": 0, "attempts": 3}
    return download_geolife(folder, url=server.url, **(fixed | options))


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(file.name.removeprefix(NAME) for file in folder.iterdir())


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "CHUNK", 1000)


def test_a_download_is_verified_recorded_and_not_repeated(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.answers = [serve()]
    folder = tmp_path / "deep" / "down"
    path = download(server, folder, progress=True)
    assert path.read_bytes() == WHOLE
    assert names(folder) == ["", ".sha256"]
    assert (folder / f"{NAME}.sha256").read_text() == f"{sha(WHOLE)}  {NAME}\n"
    said = capfd.readouterr()
    assert LICENCE in said.out and "trust on first use" in said.out and sha(WHOLE) in said.out
    assert "100%" in said.out and said.err == ""  # pooch would tell the hash on stderr
    assert len(next(read_fixes(path))) == 40
    assert download(server, folder, accept_licence=False) == path  # it is there: nothing to accept
    assert len(server.asked) == 1 and capfd.readouterr() == ("", "")


def test_without_the_terms_nothing_is_asked(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError, match=r"accept_licence=True \(--accept-licence\)"):
        download(server, tmp_path, accept_licence=False)
    assert server.asked == [] and LICENCE in capsys.readouterr().out
    assert names(tmp_path) == []


def test_a_cut_connection_goes_on_where_it_broke_off(server: Server, tmp_path: Path) -> None:
    server.answers = [serve(cut=7000), serve(cut=5000), serve()]
    assert download(server, tmp_path).read_bytes() == WHOLE
    assert [asked.get("range") for asked in server.asked] == [None, "bytes=7000-", "bytes=12000-"]
    assert [asked.get("if-range") for asked in server.asked] == [None, '"one"', '"one"']
    assert all(asked["accept-encoding"] == "identity" for asked in server.asked)
    assert names(tmp_path) == ["", ".sha256"]


def test_what_has_arrived_is_kept_for_the_next_call(server: Server, tmp_path: Path) -> None:
    server.answers = [serve(cut=7000), serve(cut=0)]
    with pytest.raises(DataError, match=r"not complete: the connection .* the same command again"):
        download(server, tmp_path)
    assert len(server.asked) == 4  # one that brings something, three that do not
    assert (tmp_path / f"{NAME}.part").read_bytes() == WHOLE[:7000]
    for status in (404, 403, 500, 503):
        server.answers, server.asked = [fails(status)], []
        with pytest.raises(DataError, match=str(status)) as refusal:
            download(server, tmp_path)
        assert "\n" not in str(refusal.value)
        remedy = "--url" if status < 500 else "goes on from the 0.0 MiB that are kept"
        assert remedy in str(refusal.value)
        assert len(server.asked) == (1 if status < 500 else 3)
        assert (tmp_path / f"{NAME}.part").read_bytes() == WHOLE[:7000]
    server.answers, server.asked = [serve()], []
    assert download(server, tmp_path).read_bytes() == WHOLE
    assert server.asked[0]["range"] == "bytes=7000-"


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    gone = Server("http://127.0.0.1:9/g.zip")  # the port of "discard", where nobody listens
    with pytest.raises(DataError, match=r"to 127\.0\.0\.1 breaks off .* same command"):
        download(gone, tmp_path)
    for url in ("g.zip", "file:///etc/passwd", "http://"):
        with pytest.raises(DataError, match="check the address"):
            download(Server(url), tmp_path)


def test_control_c_keeps_what_has_arrived(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [serve()]

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resume.tqdm, "update", stop)
        with pytest.raises(KeyboardInterrupt, match=r"part is kept, the same command goes on"):
            download(server, tmp_path)
    assert (tmp_path / f"{NAME}.part").stat().st_size == 1000
    assert download(server, tmp_path).read_bytes() == WHOLE
    assert server.asked[-1]["range"] == "bytes=1000-"


def test_a_download_stopped_while_it_is_checked_is_whole(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [serve()]

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pgt.io.download._check_archive", stop)
        with pytest.raises(KeyboardInterrupt):
            download(server, tmp_path)
    assert download(server, tmp_path).read_bytes() == WHOLE
    assert [asked.get("range") for asked in server.asked] == [None, f"bytes={len(WHOLE)}-"]


@pytest.mark.parametrize(
    "second",
    [
        serve(OTHER, etag='"two"'),  # the new file, as asked with If-Range
        serve(OTHER, etag='"two"', if_range=False),  # the rest of the new file, regardless
        serve(OTHER + b"x", etag=None, if_range=False),  # only its length tells
        serve(OTHER[:6000], etag=None, if_range=False),  # shorter than what is here already
    ],
)
def test_a_file_that_changes_in_between_is_not_mixed(
    server: Server, tmp_path: Path, second: Callable[[Headers], Answer]
) -> None:
    server.answers = [serve(cut=7000), second, serve(OTHER, etag='"two"')]
    assert download(server, tmp_path).read_bytes() == OTHER


def test_a_date_serves_where_the_etag_is_weak(server: Server, tmp_path: Path) -> None:
    date = {"Last-Modified": "Wed, 01 Aug 2012 00:00:00 GMT"}
    server.answers = [
        serve(cut=7000, etag='W/"one"', **date),
        serve(OTHER, etag='W/"one"', if_range=False, **{"Last-Modified": "later"}),
        serve(OTHER),
    ]
    assert download(server, tmp_path).read_bytes() == OTHER
    assert server.asked[1]["if-range"] == date["Last-Modified"]


def test_a_change_that_no_header_tells_is_found_by_the_checksums(
    server: Server, tmp_path: Path
) -> None:
    assert len(WHOLE) == len(OTHER)
    server.answers = [serve(cut=2000, etag=None), serve(OTHER, etag=None)]
    with pytest.raises(DataError, match=r"damaged .* download it again"):
        download(server, tmp_path)
    assert server.asked[1]["range"] == "bytes=2000-" and len(server.asked) == 2
    assert names(tmp_path) == []  # a mixture is useless


def test_a_server_that_ignores_ranges_starts_again(server: Server, tmp_path: Path) -> None:
    server.answers = [serve(cut=7000), serve(ranges=False)]
    assert download(server, tmp_path).read_bytes() == WHOLE
    server.answers = [serve(cut=7000, ranges=False)]
    with pytest.raises(DataError, match="is not complete"):  # and does not go on for ever
        download(server, tmp_path / "other")


def test_another_address_does_not_go_on_from_this_one(server: Server, tmp_path: Path) -> None:
    server.answers = [serve(cut=7000), serve(cut=0)]
    with pytest.raises(DataError, match="is not complete"):
        download(server, tmp_path)
    server.answers, server.asked = [serve(OTHER)], []
    download(Server(server.url + "?mirror"), tmp_path)
    assert "range" not in server.asked[0]


@pytest.mark.parametrize("length", [len(WHOLE) - 500, len(WHOLE) + 500])
def test_a_wrong_length_is_noticed(server: Server, tmp_path: Path, length: int) -> None:
    server.answers = [serve(**{"Content-Length": str(length)})]
    if length > len(WHOLE):  # looks cut off; the rest that it is asked for is the true one
        assert download(server, tmp_path).read_bytes() == WHOLE
    else:
        with pytest.raises(DataError, match="no complete zip archive"):
            download(server, tmp_path)
        assert names(tmp_path) == []


def test_an_answer_without_a_length_is_taken_to_its_end(server: Server, tmp_path: Path) -> None:
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(WHOLE), WHOLE)
    reply: Answer = (200, {"Transfer-Encoding": "chunked", "Content-Length": ""}, chunks, None)
    server.answers = [lambda _: reply]
    assert download(server, tmp_path).read_bytes() == WHOLE


UNSAFE = zipfile.ZipInfo("link")
UNSAFE.external_attr = 0o120777 << 16


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>please sign in</html>", "no complete zip archive"),
        (b"", "no complete zip archive"),
        (WHOLE[:-30], "no complete zip archive"),
        (WHOLE.replace(b",16.", b",17.", 1), "is damaged"),
        (archive(extra=zipfile.ZipInfo("../../.bashrc")), "leads out of its folder"),
        (archive(extra=zipfile.ZipInfo("/etc/passwd")), "has an absolute path"),
        (archive(extra=UNSAFE), "is a link"),
        (archive().replace(b"Trajectory", b"trajectories"[:10]), "holds no trajectories"),
    ],
)
def test_what_is_not_the_archive_is_removed(
    server: Server, tmp_path: Path, body: bytes, message: str
) -> None:
    server.answers = [serve(body)]
    with pytest.raises(DataError, match=message) as refusal:
        download(server, tmp_path)
    assert "\n" not in str(refusal.value)
    assert names(tmp_path) == []


def test_an_archive_with_another_number_is_kept_but_not_recorded(
    server: Server, tmp_path: Path
) -> None:
    server.answers = [serve()]
    for _ in range(2):
        with pytest.raises(DataError, match=r"holds 1 trajectories, not 18,670, .* it is kept"):
            download(server, tmp_path, n_trajectories=18_670)
        assert names(tmp_path) == [""]
    download(server, tmp_path, n_trajectories=None)
    assert len(server.asked) == 1 and names(tmp_path) == ["", ".sha256"]


def test_a_known_hash_is_asked_for(server: Server, tmp_path: Path) -> None:
    server.answers = [serve(OTHER)]
    with pytest.raises(DataError, match=f"has not the SHA-256 {sha(WHOLE)}, so it was removed"):
        download(server, tmp_path, known_hash=sha(WHOLE))
    assert names(tmp_path) == []
    download(server, tmp_path, known_hash=f"sha256:{sha(OTHER).upper()}")
    assert names(tmp_path) == [""]  # nothing to trust, so nothing to record
    with pytest.raises(DataError, match="it has changed; delete it and download it again"):
        download(server, tmp_path, known_hash=sha(WHOLE))
    with pytest.raises(DataError, match="known_hash is 'md5:12', which is no SHA-256"):
        download(server, tmp_path, known_hash="md5:12")


def test_the_first_download_is_trusted_and_later_ones_compared(
    server: Server, tmp_path: Path
) -> None:
    server.answers = [serve()]
    path, record = download(server, tmp_path), tmp_path / f"{NAME}.sha256"
    path.write_bytes(OTHER)
    with pytest.raises(DataError, match=r"as recorded in .*sha256: it has changed; delete it"):
        download(server, tmp_path)
    assert path.read_bytes() == OTHER  # it is the user's to delete
    path.unlink()
    server.answers = [serve(OTHER)]
    with pytest.raises(DataError, match=r"new version, delete .*\.sha256"):
        download(server, tmp_path)
    assert names(tmp_path) == [".sha256"]
    record.write_text("?")
    with pytest.raises(DataError, match="holds no SHA-256; delete it"):
        download(server, tmp_path)
    record.unlink()
    for junk in (b"<html>", WHOLE.replace(b",16.", b",17.", 1)):
        path.write_bytes(junk)
        with pytest.raises(DataError, match=r"no complete zip archive|is damaged"):
            download(server, tmp_path)
        assert names(tmp_path) == [""]
    path.write_bytes(OTHER)  # copied here by hand: verified and recorded like a download
    assert download(server, tmp_path) == path
    assert record.read_text().startswith(sha(OTHER))


def test_a_full_disk_is_told_before(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [serve()]
    from collections import namedtuple

    usage = namedtuple("usage", "free")
    monkeypatch.setattr(resume.shutil, "disk_usage", lambda _: usage(10_000))
    with pytest.raises(DataError, match=r"MiB left, the rest of the file needs .* make room"):
        download(server, tmp_path)


def test_the_command(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    server.answers = [serve()]
    command = ["download", "geolife", "--to", str(tmp_path), "--url", server.url]
    assert main(command) == 2
    said = capsys.readouterr()
    assert LICENCE in said.out and "--accept-licence" in said.err and server.asked == []
    assert main([*command, "--accept-licence"]) == 2  # one trajectory is not all of GeoLife
    assert "holds 1 trajectories" in capsys.readouterr().err
    monkeypatch.setattr("pgt.io.download.N_TRAJECTORIES", 1)
    assert main([*command, "--accept-licence", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert f"verified: {tmp_path / NAME}\n" in said
