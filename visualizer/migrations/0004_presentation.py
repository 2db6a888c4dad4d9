import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("visualizer", "0003_client"),
    ]

    operations = [
        migrations.CreateModel(
            name="Presentation",
            fields=[
                (
                    "code",
                    models.CharField(editable=False, max_length=10, primary_key=True, serialize=False),
                ),
                ("client", models.CharField(blank=True, db_index=True, default="", max_length=16)),
                ("ends_at", models.DateTimeField(db_index=True)),
                (
                    "lab",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="presentation",
                        to="visualizer.lab",
                    ),
                ),
            ],
        ),
    ]
