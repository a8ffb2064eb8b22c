"""Server-rendered pages: they call the services that the API calls, and work without JavaScript.

To add a page:

1. `templates/<noun>.html`: extends `layout.html` and imports `macros.html` as `ui`. It sees `page` (the values of the
   view), `visit` (`visit.base` is the project's path, `visit.can_edit` and `visit.can_administer` are the viewer's
   rights) and `labels` (`labels.py`). Everything is escaped; a missing name is an error. No inline script and no
   `style` attribute: the Content-Security-Policy forbids both. Every number gets its unit by a filter of `filters.py`,
   every time goes through `ui.time`.
2. `views/<noun>.py`: a `Page` whose `get` calls services and returns `show(template, **values)` with their rows. A
   form's `post` reads `visit.form`, calls a service with `visit.actor`, and returns `Redirect(path, flash)`. An error
   in `refusals` shows the form again: `visit.problem` is the error, `visit.sent` the form. `reads` and `changes` are
   the roles that `get` and `post` take, where not those of its base; `section` names the entry of the navigation that
   is marked. A page that asks before something is lost returns `confirm(…)`. Calculations longer than a few lines
   belong in `presenters/`: functions without framework, queries or clock.
3. `routes.py`: one line. In the navigation: `NAVIGATION` in `templating.py`.
4. `tests/e2e/ui/`: add its address to `PAGES`; it is then opened light and dark, wide and narrow, and checked for
   errors, policy violations, foreign requests and accessibility.

A form with files, or with thousands of fields, is sent as multipart to a page that sets `multipart`. Parts that the
pages of prompts, test cases and replays share are in `templates/work_macros.html` and `static/work.css`.

Behaviour in the browser is declared in HTML and done by `static/app.js`: `data-dialog` on a link opens that page's
`[data-dialog-body]` in a dialog; `data-live="3000"` on an element with an id fetches it again until it comes without;
`data-copy="id"` copies; `data-auto` on a form sends it when a choice changes; `data-slash` takes the focus at "/".
"""
