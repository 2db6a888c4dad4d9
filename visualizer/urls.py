"""URLs of the labs and their pages, grouped by topic."""

from django.urls import path

from visualizer.api import views as api
from visualizer.comparisons import inevitable
from visualizer.comparisons import views as comparisons
from visualizer.editor import views as editor
from visualizer.fidelity import views as fidelity
from visualizer.pages import gallery, glossary, page_scripts, views
from visualizer.pages import my_labs as mine
from visualizer.presenting import views as presenting
from visualizer.questions import answers
from visualizer.setups import views as setups
from visualizer.sharing import views as sharing

app_name = "visualizer"

urlpatterns = [
    path("", gallery.gallery, name="gallery"),
    path("api/scenarios.json", api.scenarios, name="api-scenarios"),
    path("api/openapi.json", api.openapi, name="openapi"),
    path("glossary/", glossary.glossary, name="glossary"),
    path("fidelity/", fidelity.fidelity, name="fidelity"),
    path("fidelity/<slug:anchor>/", fidelity.fidelity_job, name="fidelity-job"),
    path("scripts/<slug:page>.js", page_scripts.page_script, name="script"),
    path("scenarios/pictures.json", gallery.pictures, name="pictures"),
    path("scenarios/outcomes.json", gallery.outcomes, name="outcomes"),
    path("my-set-up/", setups.set_up_page, name="set-up"),
    path("my-set-up/scenario.json", setups.scenario_of_form, name="scenario-of-form"),
    path("my-set-up/size/", setups.size_of_answer, name="set-up-size"),
    path("my-set-up/answer/", setups.answer_of, name="set-up-answer"),
    path("my-set-up/check/", setups.scenario_of_text, name="scenario-of-text"),
    path("editor/", editor.editor_page, name="editor"),
    path("editor/start.json", editor.start_text, name="editor-start"),
    path("editor/schema.json", editor.schema, name="editor-schema"),
    path("editor/check/", editor.check, name="editor-check"),
    path("editor/outcome/", editor.outcome, name="editor-outcome"),
    path("my-set-up/beside/", comparisons.set_ups_page, name="set-ups"),
    path("my-set-up/beside.json", comparisons.set_ups, name="set-ups-data"),
    path("compare/<slug:name>/", comparisons.comparison_page, name="comparison"),
    path("compare/<slug:name>/columns.json", comparisons.comparison, name="comparison-data"),
    path("labs/<slug:lab_id>/compare/", comparisons.lab_comparison_page, name="lab-comparison"),
    path("labs/<slug:lab_id>/compare/columns.json", comparisons.lab_comparison, name="lab-comparison-data"),
    path("labs/<slug:lab_id>/beside/", comparisons.pair_page, name="pair"),
    path("labs/<slug:lab_id>/beside.json", comparisons.pair, name="pair-data"),
    path(
        "recordings/<slug:digest>/compare/", comparisons.recorded_comparison_page, name="recorded-comparison"
    ),
    path(
        "recordings/<slug:digest>/compare/columns.json",
        comparisons.recorded_comparison,
        name="recorded-comparison-data",
    ),
    path("labs/", views.labs, name="labs"),
    path("labs/mine/", mine.listed, name="my-labs"),
    path("labs/<slug:lab_id>/", views.lab_page, name="lab"),
    path("run/", sharing.shared_run, name="shared-run"),
    path("join/", presenting.join, name="join"),
    path("join/<str:code>/", presenting.join, name="join-code"),
    path("join/<str:code>/qr.svg", presenting.qr_code, name="join-qr"),
    path("labs/<slug:lab_id>/present/", presenting.begin, name="present"),
    path("labs/<slug:lab_id>/present/end/", presenting.end, name="end-presentation"),
    path("labs/<slug:lab_id>/run.json", sharing.run_document, name="run-document"),
    path("labs/<slug:lab_id>/scenario.yaml", sharing.scenario_file, name="scenario-file"),
    path("labs/<slug:lab_id>/trace.jsonl", sharing.trace_file, {"kind": "jsonl"}, name="trace-file"),
    path("labs/<slug:lab_id>/trace.parquet", sharing.trace_file, {"kind": "parquet"}, name="trace-parquet"),
    path("labs/<slug:lab_id>/replay/", views.replay, name="replay"),
    path("labs/<slug:lab_id>/copy/", mine.copy, name="copy-lab"),
    path("labs/<slug:lab_id>/rename/", mine.rename, name="rename-lab"),
    path("labs/<slug:lab_id>/delete/", mine.delete, name="delete-lab"),
    path("labs/<slug:lab_id>/inevitable.json", inevitable.curve, name="inevitable"),
    path("labs/<slug:lab_id>/inevitable/cancel/", inevitable.cancel, name="cancel-inevitable"),
    path("labs/<slug:lab_id>/variants/", views.open_variant, name="open-variant"),
    path("labs/<slug:lab_id>/commands/", api.give_command, name="api-command"),
    path("labs/<slug:lab_id>/seek/", api.seek, name="api-seek"),
    *answers.PATHS,
]
