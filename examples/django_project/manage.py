"""Django's command line.

python manage.py runserver      starts the schedules beside the development server
python manage.py quarterjack    runs the schedules in a process of their own
"""

import os
import sys

from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
execute_from_command_line(sys.argv)
