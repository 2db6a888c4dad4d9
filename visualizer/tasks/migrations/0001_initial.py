"""The tables of reports, experiments and audits, which were three applications before.

Rows are copied with their ids from the tables of any earlier version, which are then dropped. A column that an
earlier version did not have gets its default. Tasks that wait in a queue get the task that makes them now.
"""

import django.db.models.deletion
import django.utils.timezone
import visualizer.models
from django.db import migrations, models

BEFORE = {"Experiment": "experiments_experiment", "Report": "reports_report", "Audit": "audits_audit"}
"""The former table of each model; a report may refer to an experiment."""

RENAMED = {"worker_seen_at": "heard_at"}
"""The earliest name of a column."""

MAKE_NEXT = "labsite.tasks.make_next"
TASKS_BEFORE = {
    "labsite.tasks.make_failover_report": ["reports", "default"],
    "labsite.tasks.make_audit": ["audits", "default"],
    "labsite.experiment_task.run_experiment": ["experiments", "default"],
    "labsite.experiment_task.run_small_experiment": ["experiments", "engine"],
}
"""The former tasks of django-tasks, and what `make_next` is called with instead."""


def take_over_rows(apps, schema_editor):
    connection = schema_editor.connection
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for name, before in BEFORE.items():
            if before not in tables:
                continue
            model = apps.get_model("tasks", name)
            columns = {one.name for one in connection.introspection.get_table_description(cursor, before)}
            into, values, defaults = [], [], []
            for field in model._meta.local_concrete_fields:
                source = field.column if field.column in columns else RENAMED.get(field.column)
                into.append(quote(field.column))
                if source in columns:
                    values.append(quote(source))
                else:
                    values.append("%s")
                    defaults.append(field.get_db_prep_save(field.get_default(), connection))
            cursor.execute(
                f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(into)}) "
                f"SELECT {', '.join(values)} FROM {quote(before)}",
                defaults,
            )
        for before in reversed(BEFORE.values()):
            if before in tables:
                schema_editor.execute(schema_editor.sql_delete_table % {"table": quote(before)})
        former = ["reports", "experiments", "audits"]
        cursor.execute("DELETE FROM django_migrations WHERE app IN (%s, %s, %s)", former)


def rename_waiting_tasks(apps, schema_editor):
    waiting = apps.get_model("django_tasks_database", "DBTaskResult").objects.filter(status="READY")
    for before, args in TASKS_BEFORE.items():
        renamed = {"task_path": MAKE_NEXT, "args_kwargs": {"args": args, "kwargs": {}}}
        waiting.filter(task_path=before).update(**renamed)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('django_tasks_database', '0021_conditional_partial_index_ordering'),
        ('visualizer', '0004_presentation'),
    ]

    operations = [
        migrations.CreateModel(
            name='Audit',
            fields=[
                ('id', models.CharField(default=visualizer.models.new_lab_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('client', models.CharField(blank=True, db_index=True, default='', help_text='who asked (`visualizer.labs.clients`)', max_length=16)),
                ('title', models.CharField(max_length=200)),
                ('site', models.CharField(blank=True, help_text='address of the site that was asked, as https://lab.example.org; a result links to it', max_length=300)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('attempt', models.IntegerField(default=1)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('worker_seen_at', models.DateTimeField(blank=True, help_text='when its worker last wrote', null=True)),
                ('doing_since', models.DateTimeField(blank=True, help_text='when its present work began', null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('cancel_wanted', models.BooleanField(default=False)),
                ('error', models.TextField(blank=True)),
                ('hint', models.TextField(blank=True)),
                ('step_number', models.IntegerField(default=0)),
                ('step_count', models.IntegerField(default=0)),
                ('step_name', models.CharField(blank=True, max_length=100)),
                ('tasks_done', models.IntegerField(default=0)),
                ('tasks_count', models.IntegerField(default=0)),
                ('token_hash', models.CharField(max_length=64)),
                ('format', models.CharField(max_length=20)),
                ('files', models.JSONField(default=list, help_text='name and size of each uploaded file')),
                ('mapping', models.TextField(blank=True)),
                ('figures', models.JSONField(default=dict)),
            ],
            options={
                'ordering': ['-created_at'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Experiment',
            fields=[
                ('id', models.CharField(default=visualizer.models.new_lab_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('client', models.CharField(blank=True, db_index=True, default='', help_text='who asked (`visualizer.labs.clients`)', max_length=16)),
                ('title', models.CharField(max_length=200)),
                ('site', models.CharField(blank=True, help_text='address of the site that was asked, as https://lab.example.org; a result links to it', max_length=300)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('attempt', models.IntegerField(default=1)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('worker_seen_at', models.DateTimeField(blank=True, help_text='when its worker last wrote', null=True)),
                ('doing_since', models.DateTimeField(blank=True, help_text='when its present work began', null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('cancel_wanted', models.BooleanField(default=False)),
                ('error', models.TextField(blank=True)),
                ('hint', models.TextField(blank=True)),
                ('token_hash', models.CharField(max_length=64)),
                ('text', models.TextField(help_text="the experiment's YAML")),
                ('core_s', models.FloatField(help_text='estimated seconds of one core for all runs')),
                ('runs', models.IntegerField(help_text='all runs of the experiment')),
                ('runs_finished', models.IntegerField(default=0, help_text='those that failed are among them')),
                ('runs_failed', models.IntegerField(default=0)),
                ('left_s', models.FloatField(blank=True, help_text='seconds left, null before the first runs', null=True)),
                ('message', models.CharField(blank=True, help_text='what the worker does, or noticed', max_length=300)),
                ('results', models.JSONField(default=dict)),
                ('engine', models.BooleanField(default=False, help_text="run by the engine's processes, without Spark")),
                ('engine_version', models.CharField(blank=True, help_text='of the engine that ran it', max_length=40)),
                ('set_up', models.BooleanField(default=False, help_text='an answer of My set-up')),
            ],
            options={
                'ordering': ['-created_at'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.CharField(default=visualizer.models.new_lab_id, editable=False, max_length=12, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('client', models.CharField(blank=True, db_index=True, default='', help_text='who asked (`visualizer.labs.clients`)', max_length=16)),
                ('title', models.CharField(max_length=200)),
                ('site', models.CharField(blank=True, help_text='address of the site that was asked, as https://lab.example.org; a result links to it', max_length=300)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('attempt', models.IntegerField(default=1)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('worker_seen_at', models.DateTimeField(blank=True, help_text='when its worker last wrote', null=True)),
                ('doing_since', models.DateTimeField(blank=True, help_text='when its present work began', null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('cancel_wanted', models.BooleanField(default=False)),
                ('error', models.TextField(blank=True)),
                ('hint', models.TextField(blank=True)),
                ('step_number', models.IntegerField(default=0)),
                ('step_count', models.IntegerField(default=0)),
                ('step_name', models.CharField(blank=True, max_length=100)),
                ('tasks_done', models.IntegerField(default=0)),
                ('tasks_count', models.IntegerField(default=0)),
                ('scenario_text', models.TextField(help_text="of a recount, the experiment's YAML")),
                ('seed', models.BigIntegerField()),
                ('commands', models.JSONField(default=list)),
                ('until_us', models.BigIntegerField()),
                ('figures', models.JSONField(default=list)),
                ('checks', models.JSONField(default=list, help_text='of a recount, each claim with the number of runs in which it held and was violated')),
                ('simulator_figures', models.JSONField(default=list, help_text="the simulator's own headline figures, shown while Spark counts")),
                ('reruns', models.JSONField(default=list, help_text="outcomes of what would have helped that the lab's page has computed already; of a recount, the answer's runs and figures")),
                ('experiment', models.ForeignKey(help_text="the answer of My set-up whose runs are counted again, in place of a lab's run", null=True, on_delete=django.db.models.deletion.CASCADE, related_name='recounts', to='tasks.experiment')),
                ('lab', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='visualizer.lab')),
            ],
            options={
                'ordering': ['-created_at'],
                'abstract': False,
            },
        ),
        migrations.RunPython(take_over_rows),
        migrations.RunPython(rename_waiting_tasks),
    ]
