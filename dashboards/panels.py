"""The few kinds of panels that Capstan's dashboards are made of, as Grafana's JSON.

A panel is a title, a description (what it shows; what is normal), a unit, and queries. In a query, `$S` stands for the
labels of the chosen job, and `$I` for Grafana's interval of rates. Pure data: nothing here reads or writes a file.
"""

SELECTOR = 'namespace="$namespace",job_name="$release"'
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


def _annotation(name, color, title, query):
    """`query(back, ago)` is true around the event; `ago` is to stand behind each selector, `back` is the same in seconds.
    A line is drawn where it has become true, also where events follow each other closely."""
    begins = f"{query(0, '')} unless {query(15, ' offset 15s')}"
    return {"name": name, "enable": True, "iconColor": color, "datasource": SOURCE, "expr": expand(begins),
            "titleFormat": title, "step": "15s", "useValueForTime": False}


ANNOTATIONS = [
    # By its age: between the last scrape of the one and the first of the next may be any time.
    _annotation("Restarts", "red", "{{role}} {{shard}} restarted", lambda back, ago:
                "(time() - %d - max by (role, shard) (capstan_process_start_timestamp_seconds"
                '{$S,role!="worker"}%s) < 60)' % (back, ago)),
    _annotation("Checkpoints", "green", "checkpoint", lambda back, ago:
                '(increase(sum(capstan_checkpoint_commits_total{$S,result="ok"})[15s:5s]%s) > 0)' % ago),
    _annotation("Workers", "blue", "workers joined or left", lambda back, ago:
                '(changes(sum(capstan_workers{$S,state!="lost"})[15s:5s]%s) > 0)' % ago),
    _annotation("Views", "purple", "something joined, left or changed", lambda back, ago:
                "(changes(max(capstan_view_epoch{$S})[15s:5s]%s) > 0)" % ago),
]


def _variable(name, label, query, **more):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "refresh": 2, "sort": 1,
            "query": {"query": query, "refId": name}, "definition": query, "current": {}, **more}


VARIABLES = [
    {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}},
    _variable("namespace", "Namespace", "label_values(capstan_training_state, namespace)"),
    _variable("release", "Release", 'label_values(capstan_training_state{namespace="$namespace"}, job_name)'),
]
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
              "includeVars": True, "keepTime": True}]
    return {
        "uid": uid, "title": f"Capstan / {title}", "description": description, "tags": ["capstan"],
        "schemaVersion": 41, "version": 1, "editable": True, "graphTooltip": 1, "timezone": "browser",
        "refresh": "10s", "time": {"from": "now-30m", "to": "now"}, "links": links,
        "annotations": {"list": ANNOTATIONS}, "templating": {"list": [*VARIABLES, *variables]},
        "panels": _place(rows),
    }
