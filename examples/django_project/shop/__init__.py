"""A Django application with schedules."""
