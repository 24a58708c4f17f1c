"""Component tests: a view or a widget of the page, mounted from fixtures, without our server.

How to write one::

    @pytest.mark.component
    def test_a_step_shows_its_output(stage: Stage) -> None:
        stage.mount("timeline", run=[started(), *step(1, bash("ls", "a.txt")), ended()])
        expect(stage.step(1)).to_contain_text("a.txt")

1. Describe the run with events, the server's own types (``events.py`` has them in few words). The
   server's own reducers make the page's JSON of it (``runs.py``); ``stage.run.add(*events)``
   continues it. What one view asks of another is an event of the page: ``stage.record_events``.
2. What does not follow from events is a recorded fixture: ``recorded("files_run")`` returns the
   answers that the real routes gave. A new one is a function in ``scenarios.py``; write it with
   ``python -m tests.support.component.record``. ``tests/sandbox_ui/test_component_fixtures.py``
   runs the real routes again and compares the shapes.
3. ``stage.answer_recorded(recorded("files_run"))`` and ``stage.run.add_recorded(…)`` give the page
   a recording; ``stage.answer("results", value)`` replaces one answer of the run,
   ``stage.answer("/me", value)`` one of the page, ``stage.fail(…)`` lets the request fail,
   ``stage.hold(…)`` delays it, ``stage.asked(path)`` lists what was asked. A request without an
   answer, and an error in the console, fail the test.
4. ``stage.mount("timeline", "workspace", …)`` loads the bare page and mounts these components. A
   widget is mounted by a script: ``stage.evaluate("core/view.js", "(module, id) => …", id)``.
5. Where a view changes files or lists runs, ``stage.use_routes(LocalRoutes(stage.data))`` lets the
   server's own routes answer, called in the test's process on the files below ``stage.data``.
   What a route changes is announced to the page; ``stage.run.change_files()`` announces the rest.
   With the fixture ``studio`` the page has no run yet: ``studio.write(…)``, ``studio.show(run)``.
6. Every state × role × width × theme: ``@pytest.mark.parametrize("look", LOOKS, ids=str)`` and
   ``stage.mount(…, look=look)``.

Each test has a fresh document: the page's modules keep state. Its scripts come from the browser's
cache and are compiled already, so that it takes about 0.1 s of CPU.
"""
