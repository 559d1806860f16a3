"""The settings of the project: no more than it needs to run."""

from pathlib import Path

DATA = Path.cwd()
DEBUG = True
SECRET_KEY = "for-development-only"
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA / "django.db"}}
QUARTERJACK_DATABASE = f"sqlite:///{DATA / 'quarterjack.db'}"
USE_TZ = True
