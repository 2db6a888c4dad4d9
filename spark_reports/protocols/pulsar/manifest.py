"""The declaration of Pulsar in regions to reports."""

from spark_reports.protocols.manifest import Command, Manifest, PageParts
from spark_reports.protocols.pulsar.downloads import CSV_COLUMNS, csv_lines, result_lines
from spark_reports.protocols.pulsar.fidelity import command as fidelity
from spark_reports.protocols.pulsar.html.page import articles, figures, heading, overview
from spark_reports.protocols.pulsar.html.words import DEFINITIONS
from spark_reports.protocols.pulsar.part import FailoverPart

MANIFEST = Manifest(
    name="pulsar",
    part=FailoverPart,
    subjects=lambda run: run["failovers"],
    page=PageParts(heading, overview, articles, figures, DEFINITIONS),
    csv_columns=CSV_COLUMNS,
    csv_lines=csv_lines,
    result_lines=result_lines,
    commands=(Command("fidelity", fidelity.HELP, fidelity.add_arguments, fidelity.run),),
)
