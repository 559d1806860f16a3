"""One page: the newest runs, as JSON."""

from django.http import HttpRequest, JsonResponse
from django.urls import path

from shop.jobs import jobs


def runs(_request: HttpRequest) -> JsonResponse:
    return JsonResponse({"runs": jobs.runs("count_orders", limit=5)})


urlpatterns = [path("runs", runs)]
