from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0005_simulator_figures"),
    ]

    operations = [
        migrations.AddField(
            model_name="report",
            name="reruns",
            field=models.JSONField(
                default=list,
                help_text="outcomes of what would have helped that the lab's page has computed already",
            ),
        ),
    ]
