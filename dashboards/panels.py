"""The few kinds of panels that Capstan's dashboards are made of, as Grafana's JSON.

A panel is a title, a description (what it shows; what is normal), a unit, and queries. In a query, `$S` stands for the
labels of the chosen job, and `$I` for Grafana's interval of rates. Pure data: nothing here reads or writes a file.
"""

SELECTOR = 'namespace="$namespace",job_name="$release"'
RUNBOOKS = "https://github.com/capstan/capstan/blob/main/docs/runbooks.md"  # The chart puts its own value there.
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GREEN, YELLOW, RED, BLUE, GREY = "green", "yellow", "red", "blue", "text"


def expand(query):
    return query.replace("$S", SELECTOR).replace("$I", "$__rate_interval")


def steps(*values):
    """Thresholds: steps(GREEN, (0.8, YELLOW), (0.9, RED))."""
    return {"mode": "absolute", "steps": [{"color": values[0], "value": None}] +
            [{"color": color, "value": value} for value, color in values[1:]]}


def number(query):
    """Leaves out NaN, which a quantile or a mean is while nothing happens: a comparison with it is false."""
    return f"({query}) >= 0"


def quantile(q, name, by="le", labels="$S"):
    return number(f"histogram_quantile({q}, sum by ({by}) (rate({name}_bucket{{{labels}}}[$I])))")


def target(query, legend="", **more):
    return {"expr": expand(query), "legendFormat": legend or "__auto", "datasource": SOURCE,
            "editorMode": "code", "range": True, **more}


def _panel(kind, title, description, unit, targets, width, height, defaults=None, options=None, overrides=()):
    assert description.endswith("."), title
    for index, one in enumerate(targets):
        one["refId"] = chr(ord("A") + index)
    return {
        "type": kind, "title": title, "description": description, "datasource": SOURCE,
        "gridPos": {"w": width, "h": height},
        "fieldConfig": {"defaults": {"unit": unit, "noValue": "-", **(defaults or {})}, "overrides": list(overrides)},
        "options": options or {}, "targets": targets,
    }


def stat(title, description, unit, query, width=3, height=4, thresholds=None, mappings=(), legend="", **defaults):
    """One number, the latest."""
    by_name = "name" if legend else "value"
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "colorMode": "value", "graphMode": "none", "justifyMode": "center", "textMode": by_name}
    return _panel("stat", title, description, unit, [target(query, legend, instant=True, range=False)], width, height,
                  {"thresholds": thresholds or steps(GREY), "mappings": list(mappings),
                   "color": {"mode": "thresholds"}, **defaults}, options)


def stats(title, description, unit, *targets, width=4, height=4, thresholds=None, mode="value_and_name", colors_=(), overrides_=(), **defaults):
    """Some numbers, the latest. `colors_`: of the targets, in their order; one without an answer is not shown."""
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "colorMode": "value", "graphMode": "none", "justifyMode": "center", "textMode": mode}
    for one in targets:
        one.update(instant=True, range=False)
    overrides = [{"matcher": {"id": "byFrameRefID", "options": chr(ord("A") + index)},
                  "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}]}
                 for index, color in enumerate(colors_)] + list(overrides_)
    return _panel("stat", title, description, unit, list(targets), width, height,
                  {"thresholds": thresholds or steps(GREY), "color": {"mode": "thresholds"}, **defaults}, options, overrides)


AGE = "(time() - max(capstan_checkpoint_last_complete_timestamp_seconds{$S}))"
_INTERVAL = "max(capstan_checkpoint_interval_seconds{$S})"


def checkpoint_age(width=4):
    """Green up to one and a half intervals, red from three on: then CapstanCheckpointTooOld fires."""
    return stats("Checkpoint", "Age of the last one: what a crash of everything would cost. Green: at most one and a half of the job's "
                 "intervals; red: more than three. Empty before the first one.", "s",
                 target(f"{AGE} <= 1.5 * {_INTERVAL}"), target(f"({AGE} > 1.5 * {_INTERVAL}) <= 3 * {_INTERVAL}"),
                 target(f"{AGE} > 3 * {_INTERVAL}"), target(f"{AGE} unless {_INTERVAL}"),
                 width=width, mode="value", colors_=(GREEN, YELLOW, RED, GREY), decimals=0)


def recovery(width=5):
    return stats("Last recovery", "Since when training has gone on after a shard was lost, and how many examples it had to train again, "
                 "or updates of rows are missing. Empty: this chief has seen none.", "s",
                 target("time() - max(capstan_recovery_last_timestamp_seconds{$S})", "ago"),
                 target("max(capstan_recovery_last_samples{$S})", "examples again"), width=width, decimals=0, noValue="none",
                 overrides_=[{"matcher": {"id": "byName", "options": "examples again"},
                              "properties": [{"id": "unit", "value": "short"}]}],
                 colors_=(YELLOW, YELLOW))


def extremes(title, description, unit, query, legend, width=8, height=9, **more):
    """Bars of the 15 lowest and the 15 highest, in order; with few there are all in both."""
    return [bars(f"{title}: lowest", description, unit, target(f"sort(bottomk(15, {query}))", legend), width=width, height=height, **more),
            bars(f"{title}: highest", description, unit, target(f"sort_desc(topk(15, {query}))", legend), width=width, height=height, **more)]


def gauge(title, description, unit, query, width=4, height=4, thresholds=None, low=0, high=1):
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "showThresholdLabels": False, "showThresholdMarkers": False}
    return _panel("gauge", title, description, unit, [target(query, instant=True, range=False)], width, height,
                  {"min": low, "max": high, "thresholds": thresholds or steps(BLUE)}, options)


def lines(title, description, unit, *targets, width=8, height=8, stack=False, legend="list", thresholds=None,
          overrides=(), custom=None, **defaults):
    """Lines over time. `stack`: areas that add up. `legend`: list, values (each with its last), or hidden."""
    custom = {**(custom or {}), "lineWidth": 1, "fillOpacity": 60 if stack else 0, "showPoints": "never", "spanNulls": False,
              "stacking": {"mode": "normal" if stack else "none", "group": "A"}}
    if thresholds:
        custom["thresholdsStyle"] = {"mode": "line"}
        defaults["thresholds"] = thresholds
    options = {"legend": {"showLegend": legend != "hidden", "placement": "bottom",
                          "displayMode": "list", "calcs": ["lastNotNull"] if legend == "values" else []},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    return _panel("timeseries", title, description, unit, list(targets), width, height,
                  {"custom": custom, **defaults}, options, overrides)


def colors(table):
    """Overrides: {series: color}, for names that mean good or bad."""
    return [{"matcher": {"id": "byName", "options": name},
             "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}]}
            for name, color in table.items()]


def beside_stack(name):
    """Overrides: that series is a dashed line beside the stack of the others."""
    return [{"matcher": {"id": "byName", "options": name},
             "properties": [{"id": "custom.stacking", "value": {"mode": "none"}}, {"id": "custom.fillOpacity", "value": 0},
                            {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}},
                            {"id": "color", "value": {"mode": "fixed", "fixedColor": "text"}}]}]


LOGARITHMIC = {"scaleDistribution": {"type": "log", "log": 10}}


def right_axis(name, unit):
    """An override: the series of that name is measured on the right."""
    return {"matcher": {"id": "byName", "options": name},
            "properties": [{"id": "unit", "value": unit}, {"id": "custom.axisPlacement", "value": "right"}]}


def heat(title, description, unit, query, width=12, height=8):
    """A histogram over time; the query is summed by le."""
    options = {"calculate": False, "yAxis": {"axisPlacement": "left", "unit": unit},
               "rowsFrame": {"layout": "le"}, "cellGap": 1, "showValue": "never",
               "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5, "reverse": False},
               "cellValues": {"unit": "cps"}, "legend": {"show": True}, "tooltip": {"mode": "single"},
               "filterValues": {"le": 1e-9}}
    return _panel("heatmap", title, description, unit, [target(query, "{{le}}", format="heatmap")], width, height,
                  options=options)


def bars(title, description, unit, *targets, width=8, height=8, thresholds=None, **defaults):
    """The latest value of each series as a bar."""
    options = {"orientation": "horizontal", "displayMode": "basic", "valueMode": "text", "showUnfilled": True,
               "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
    for one in targets:
        one.update(instant=True, range=False)
    return _panel("bargauge", title, description, unit, list(targets), width, height,
                  {"min": 0, "thresholds": thresholds or steps(BLUE), **defaults}, options)


def states(title, description, query, legend, width=24, height=5, mappings=()):
    """Which state each thing was in over time."""
    return _panel("state-timeline", title, description, "none", [target(query, legend)], width, height,
                  {"custom": {"fillOpacity": 80, "lineWidth": 0}, "mappings": list(mappings),
                   "thresholds": steps(GREY), "color": {"mode": "thresholds"}},
                  {"showValue": "auto", "mergeValues": True, "rowHeight": 0.8, "alignValue": "center",
                   "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom"}})


def values_as(table):
    """A mapping: {value: (text, color)}."""
    return {"type": "value", "options": {str(value): {"text": text, "color": color, "index": index}
                                         for index, (value, (text, color)) in enumerate(table.items())}}


def _in_state(state):
    return f'max(capstan_training_state{{$S,state="{state}"}})'


# The job's state as a number, and what the numbers mean.
_STATES = {"pending": YELLOW, "restoring": YELLOW, "running": GREEN, "checkpointing": BLUE, "completed": GREEN,
           "failed": RED}
STATE = " + ".join(f"{number} * {_in_state(state)}" for number, state in enumerate(_STATES))
STATE_NAMES = values_as(dict(enumerate(_STATES.items())))


def _annotation(name, color, title, query, **more):
    """The query gives when the events were, in seconds: they stand where they happened, whenever they were scraped."""
    return {"name": name, "enable": True, "iconColor": color, "datasource": SOURCE, "expr": expand(f"1000 * {query}"),
            "titleFormat": title, "step": "10s", "useValueForTime": True, **more}


ANNOTATIONS = [
    _annotation("Starts", "red", "{{role}} {{shard}} started",
                'max by (role, shard) (capstan_process_start_timestamp_seconds{$S,role!="worker"})'),
    _annotation("Recoveries", "orange", "training goes on after a recovery",
                "max(capstan_recovery_last_timestamp_seconds{$S})"),
    _annotation("Checkpoints", "green", "checkpoint", "max(capstan_checkpoint_last_success_timestamp_seconds{$S})"),
    _annotation("Workers", "blue", "a worker joined or left", "max(capstan_workers_changed_timestamp_seconds{$S})"),
    _annotation("Views", "purple", "something joined, left or changed",
                "max(capstan_view_published_timestamp_seconds{$S})", enable=False),
]


def _variable(name, label, query, **more):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "refresh": 2, "sort": 1,
            "query": {"query": query, "refId": name}, "definition": query, "current": {}, **more}


VARIABLES = [
    {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}},
    _variable("namespace", "Namespace", "label_values(capstan_training_state, namespace)"),
    _variable("release", "Release", 'label_values(capstan_training_state{namespace="$namespace"}, job_name)'),
]
WORKER = _variable("worker", "Worker", f"label_values(capstan_worker_compute_threads{{{SELECTOR}}}, pod)",
                   multi=True, includeAll=True, allValue=".+")
SHARD = _variable("shard", "Shard", f"label_values(capstan_store_bytes{{{SELECTOR}}}, shard)",
                  multi=True, includeAll=True, allValue=".+")


def _place(rows):
    """Rows of panels, each (title or None, panels): fills lines of 24 columns from left to right."""
    placed, y = [], 0
    for title, panels in rows:
        if title:
            placed.append({"type": "row", "title": title, "collapsed": False, "panels": [],
                           "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
            y += 1
        x = line = 0
        for panel in panels:
            position = panel["gridPos"]
            if x + position["w"] > 24:
                x, y, line = 0, y + line, 0
            position.update(x=x, y=y)
            x, line = x + position["w"], max(line, position["h"])
            placed.append(panel)
        y += line
    for number, panel in enumerate(placed, 1):
        panel["id"] = number
    return placed


def dashboard(uid, title, description, rows, variables=()):
    links = [{"type": "dashboards", "title": "Capstan", "tags": ["capstan"], "asDropdown": True,
              "includeVars": True, "keepTime": True},
             {"type": "link", "title": "What to do: runbooks", "url": RUNBOOKS, "icon": "doc", "targetBlank": True}]
    return {
        "uid": uid, "title": f"Capstan / {title}", "description": description, "tags": ["capstan"],
        "schemaVersion": 41, "version": 1, "editable": True, "graphTooltip": 1, "timezone": "browser",
        "refresh": "10s", "time": {"from": "now-30m", "to": "now"}, "links": links,
        "annotations": {"list": ANNOTATIONS}, "templating": {"list": [*VARIABLES, *variables]},
        "panels": _place(rows),
    }
