from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="report",
            name="site",
            field=models.CharField(
                blank=True,
                default="",
                help_text="address of the site that was asked, as https://lab.example.org; a downloaded page links to it",
                max_length=300,
            ),
            preserve_default=False,
        ),
    ]
