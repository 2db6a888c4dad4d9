from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0004_worker_seen_at"),
    ]

    operations = [
        migrations.AddField(
            model_name="report",
            name="simulator_figures",
            field=models.JSONField(
                default=list, help_text="the simulator's own headline figures, shown while Spark counts"
            ),
        ),
    ]
