"""A plugin of pytest for the system tests of Google's Python client (see google_python_suite.py), whose files stay as they are.

The suite knows Google's emulator, and skips on it what that cannot do. This plugin
- runs the tests of query plans, partitions and vector searches nevertheless, and seeds the documents of the last with the suite's script;
- makes nothing of the comparison of queries with pipelines: it would skip the tests that end with it, and ExecutePipeline is not served;
- leaves out the parameter of the enterprise edition, whose tests are those pipelines;
- with HEARTH_SUITE_TRANSPORT=rest makes Client talk REST, leaves out the tests that need a call which the client does not offer over
  REST, and names both;
- with HEARTH_SUITE_TOKEN sends that token over gRPC in the place of the one that the client sends to emulators;
- prints the counts and the reasons of skipped tests at the end.
"""

import collections
import importlib.util
import inspect
import os
import pathlib

import grpc
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import base_client
from google.cloud.firestore_v1 import client as client_module
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.rest import FirestoreRestTransport

IS_REST = os.environ.get("HEARTH_SUITE_TRANSPORT") == "rest"
TOKEN = os.environ.get("HEARTH_SUITE_TOKEN")
NAME = "google python suite"
if IS_REST:
    NAME += " over REST"
if TOKEN:
    NAME += " with a token"
# Parts of the reasons with which the suite skips on an emulator.
FORCED = ("Query profile not supported", "PartitionQuery not implemented", "Require index and seed data")
NAMED_DATABASE = os.environ.get("SYSTEM_TESTS_DATABASE", "system-tests-named-db")
ENTERPRISE_DATABASE = os.environ.get("ENTERPRISE_DATABASE", "enterprise-db-native")


class Left:
    """The tests that are left out."""

    enterprise = 0
    listening = set()


def is_forced(mark):
    return mark.name == "skipif" and any(reason in mark.kwargs.get("reason", "") for reason in FORCED)


def rest_transport(address):
    return FirestoreRestTransport(host=address, credentials=AnonymousCredentials(), url_scheme="http")


def use_rest():
    def api(client):
        if client._firestore_api_internal is None:
            client._firestore_api_internal = FirestoreClient(transport=rest_transport(os.environ["FIRESTORE_EMULATOR_HOST"]))
        return client._firestore_api_internal

    client_module.Client._firestore_api = property(api)
    from_response = exceptions.from_http_response

    def from_status(response):
        """The class of errors by the status in the body, as over gRPC: from the number alone the client makes less exact ones."""
        error = from_response(response)
        body = response.json()
        body = body[0] if isinstance(body, list) else body
        error_class = exceptions.exception_class_for_grpc_status(grpc.StatusCode[body["error"]["status"]])
        return error_class(error.message, errors=error.errors, details=error.details, response=response)

    exceptions.from_http_response = from_status


def send_token():
    metadata_of = base_client.BaseClient._rpc_metadata.fget

    def metadata(client):
        return [(name, value) for name, value in metadata_of(client) if name != "authorization"] + [
            ("authorization", f"Bearer {TOKEN}")]

    base_client.BaseClient._rpc_metadata = property(metadata)


def not_offered():
    """The calls that the client refuses over REST before it sends anything."""
    # Nothing listens on port 1; the others fail because of that.
    transport = rest_transport("127.0.0.1:1")
    calls = [name for name, value in vars(FirestoreRestTransport).items() if isinstance(value, property)
             and name not in ("kind", "operations_client")]
    refused = []
    for name in calls:
        try:
            getattr(transport, name)({})
        except NotImplementedError:
            refused.append(name)
        except Exception:  # noqa: BLE001 - any other error is that of a call which is offered
            pass
    return sorted(refused)


def seed_vectors(root):
    path = pathlib.Path(root) / "util" / "bootstrap_vector_index.py"
    spec = importlib.util.spec_from_file_location("bootstrap_vector_index", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for database in (None, NAMED_DATABASE):
        script.create_vector_documents(firestore.Client(database=database), script.COLLECTION_ID)


def pytest_sessionstart(session):
    if IS_REST:
        use_rest()
    if TOKEN:
        send_token()
    seed_vectors(session.config.invocation_params.dir)


def pytest_collection_modifyitems(config, items):
    kept, left = [], []
    for item in items:
        database = item.callspec.params.get("database") if hasattr(item, "callspec") else None
        if database == ENTERPRISE_DATABASE:
            Left.enterprise += 1
            left.append(item)
        elif IS_REST and "on_snapshot" in inspect.getsource(item.function):
            Left.listening.add(item.originalname)
            left.append(item)
        else:
            item.own_markers = [mark for mark in item.own_markers if not is_forced(mark)]
            kept.append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)
    for module in {item.module for item in kept}:
        module.verify_pipeline = ignore_asynchronously if inspect.iscoroutinefunction(module.verify_pipeline) else ignore


def ignore(query):
    pass


async def ignore_asynchronously(query):
    pass


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    passed, skipped = len(stats.get("passed", [])), stats.get("skipped", [])
    failed = len(stats.get("failed", [])) + len(stats.get("error", []))
    terminalreporter.ensure_newline()
    print(f"{NAME}: {passed} passed, {failed} failed, {len(skipped)} skipped")
    reasons = collections.Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in sorted(reasons.items()):
        print(f"{NAME}: skipped by the suite: {count} ({reason})")
    print(f"{NAME}: left out: {Left.enterprise} of the enterprise edition (pipelines)")
    if IS_REST:
        print(f"{NAME}: not offered by the client: {', '.join(not_offered())}; left out: {', '.join(sorted(Left.listening))}")
