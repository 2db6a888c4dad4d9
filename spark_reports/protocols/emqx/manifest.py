"""The declaration of EMQX's durable shared subscriptions to reports."""

from spark_reports.protocols.emqx.downloads import CSV_COLUMNS, csv_lines, result_lines
from spark_reports.protocols.emqx.html.groups import articles, figures, heading, overview
from spark_reports.protocols.emqx.html.words import DEFINITIONS
from spark_reports.protocols.emqx.part import GroupPart
from spark_reports.protocols.manifest import Manifest, PageParts

MANIFEST = Manifest(
    name="emqx",
    part=GroupPart,
    subjects=lambda run: run["groups"],
    page=PageParts(heading, overview, articles, figures, DEFINITIONS),
    csv_columns=CSV_COLUMNS,
    csv_lines=csv_lines,
    result_lines=result_lines,
)
