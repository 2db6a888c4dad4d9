from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0003_client"),
    ]

    operations = [
        migrations.RenameField(model_name="report", old_name="heard_at", new_name="worker_seen_at"),
    ]
