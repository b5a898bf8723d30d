"""The checker of the documentation's examples, held against a stand-in for the command."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import check_examples

PAGE = """# Page
```console
$ ropewalk a b
one
two 2.5 s
$ ./bootstrap verify
anything
$ ropewalk | head -1
one
```
```
$ ropewalk is not run here
```
"""


class CheckExamples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = pathlib.Path(folder.name) / "page.md"
        self.binary = pathlib.Path(folder.name) / "ropewalk"
        self.binary.write_text("#!/bin/sh\nprintf 'one\\ntwo 2.5 s\\n'\n")
        self.binary.chmod(0o755)

    def check(self, text, update=False):
        self.page.write_text(text, encoding="utf-8")
        self.report = io.StringIO()
        with contextlib.redirect_stdout(self.report):
            return check_examples.check(self.page, self.binary, update)

    def test_equal_output_passes(self):
        self.assertEqual(self.check(PAGE), (2, 0))

    def test_a_difference_is_shown_with_its_place(self):
        self.assertEqual(self.check(PAGE.replace("2.5", "2.6")), (2, 1))
        self.assertIn("page.md:3: $ ropewalk a b", self.report.getvalue())
        self.assertIn("-two 2.6 s\n+two 2.5 s", self.report.getvalue())

    def test_missing_and_extra_lines_are_differences(self):
        self.assertEqual(self.check(PAGE.replace("two 2.5 s\n", "")), (2, 1))
        self.assertEqual(self.check(PAGE.replace("two 2.5 s\n", "two 2.5 s\nthree\n")), (2, 1))

    def test_wildcards(self):
        self.assertEqual(self.check(PAGE.replace("2.5", "<*>")), (2, 0))
        self.assertEqual(self.check(PAGE.replace("two 2.5 s", "…")), (2, 0))
        self.assertEqual(self.check(PAGE.replace("two 2.5 s", "…\ntwo 2.5 s")), (2, 0))
        self.assertEqual(self.check(PAGE.replace("2.5 s", "<*>")), (2, 1))

    def test_update_writes_what_was_printed_and_keeps_wildcards(self):
        self.check(PAGE.replace("one\ntwo 2.5 s", "three").replace("-1\none", "-1\no<*>"), update=True)
        self.assertEqual(self.page.read_text(encoding="utf-8"), PAGE.replace("-1\none", "-1\no<*>"))

    def test_an_open_block_is_an_error(self):
        with self.assertRaises(ValueError):
            self.check("```console\n$ ropewalk\n")

    def test_a_command_that_crashes_is_an_error(self):
        self.binary.write_text("#!/bin/sh\nkill -SEGV $$\n")
        with self.assertRaises(RuntimeError):
            self.check(PAGE)


if __name__ == "__main__":
    unittest.main()
