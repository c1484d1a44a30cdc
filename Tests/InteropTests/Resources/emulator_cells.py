"""Asks Google's emulator for what the table in docs/server.md says of it.

    emulator_cells.py ADDRESS

Prints a line for each cell: its name, a colon, and the answer.
"""

import datetime
import sys
import threading
import uuid

import grpc
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport
from google.cloud.firestore_v1.types import document as d
from google.cloud.firestore_v1.types import firestore as f
from google.cloud.firestore_v1.types import query as q
from google.cloud.firestore_v1.types import query_profile
from google.cloud.firestore_v1.types import write as w
from google.protobuf import wrappers_pb2

DATABASE = f"projects/cells-{uuid.uuid4().hex[:12]}/databases/(default)"
ROOT = f"{DATABASE}/documents"
METADATA = [("authorization", "Bearer owner"), ("google-cloud-resource-prefix", DATABASE)]
SECONDS = 20

channel = grpc.insecure_channel(sys.argv[1])
calls = FirestoreGrpcTransport(channel=channel)


def ask(cell, call, request, show):
    """Prints the answer to a request, or the code of its failure."""
    try:
        answer = show(call(request, metadata=METADATA, timeout=SECONDS))
    except grpc.RpcError as error:
        answer = error.code().name
    print(f"{cell}: {answer}")


def number(value):
    return d.Value(integer_value=value)


def vector(*values):
    elements = d.ArrayValue(values=[d.Value(double_value=value) for value in values])
    return d.Value(
        map_value=d.MapValue(
            fields={"__type__": d.Value(string_value="__vector__"), "value": d.Value(array_value=elements)}
        )
    )


def put(path, **fields):
    return w.Write(update=d.Document(name=f"{ROOT}/{path}", fields=fields))


def commit(*writes):
    return f.CommitRequest(database=DATABASE, writes=list(writes))


def collection(**members):
    return q.StructuredQuery(from_=[q.StructuredQuery.CollectionSelector(collection_id="c")], **members)


def field(path):
    return q.StructuredQuery.FieldReference(field_path=path)


first = calls.commit(
    commit(put("c/a", v=vector(3, 4), n=number(1)), put("c/b", v=vector(0, 1))), metadata=METADATA
).commit_time
calls.commit(commit(put("c/a", v=vector(3, 4), n=number(2))), metadata=METADATA)

for measure in ("EUCLIDEAN", "COSINE", "DOT_PRODUCT"):
    nearest = q.StructuredQuery.FindNearest(
        vector_field=field("v"),
        query_vector=vector(3, 4),
        distance_measure=q.StructuredQuery.FindNearest.DistanceMeasure[measure],
        limit=wrappers_pb2.Int32Value(value=1),
        distance_result_field="d",
    )
    ask(
        f"find_nearest {measure}",
        calls.run_query,
        f.RunQueryRequest(parent=ROOT, structured_query=collection(find_nearest=nearest)),
        lambda answers: [r.document.fields["d"].double_value for r in answers if r.document.name],
    )

ask(
    "a read in the past",
    calls.get_document,
    f.GetDocumentRequest(name=f"{ROOT}/c/a", read_time=first),
    lambda found: found.fields["n"].integer_value,
)
ask(
    "a read before the data",
    calls.batch_get_documents,
    f.BatchGetDocumentsRequest(
        database=DATABASE,
        documents=[f"{ROOT}/c/a"],
        read_time=datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=2),
    ),
    lambda answers: "missing" if all(r.missing for r in answers if r.missing or r.found.name) else "found",
)
ask(
    "PartitionQuery",
    calls.partition_query,
    f.PartitionQueryRequest(
        parent=ROOT,
        partition_count=3,
        structured_query=q.StructuredQuery(
            from_=[q.StructuredQuery.CollectionSelector(collection_id="c", all_descendants=True)],
            order_by=[q.StructuredQuery.Order(field=field("__name__"), direction="ASCENDING")],
        ),
    ),
    lambda answer: len(answer.partitions),
)
ask(
    "explain_options",
    calls.run_query,
    f.RunQueryRequest(
        parent=ROOT, structured_query=collection(), explain_options=query_profile.ExplainOptions(analyze=True)
    ),
    lambda answers: "explained" if any("explain_metrics" in r for r in answers) else "ignored",
)
transforms = [w.DocumentTransform.FieldTransform(field_path=f"f{i}", increment=number(1)) for i in range(501)]
ask(
    "501 transforms",
    calls.commit,
    commit(w.Write(update=d.Document(name=f"{ROOT}/t/a"), update_transforms=transforms)),
    lambda answer: "accepted",
)
entries = d.Value(array_value=d.ArrayValue(values=[number(i) for i in range(40_001)]))
ask("40,001 index entries", calls.commit, commit(put("t/b", a=entries)), lambda answer: "accepted")
ask(
    "a composite index",
    calls.run_query,
    f.RunQueryRequest(
        parent=ROOT,
        structured_query=collection(
            order_by=[
                q.StructuredQuery.Order(field=field("v"), direction="ASCENDING"),
                q.StructuredQuery.Order(field=field("n"), direction="DESCENDING"),
            ]
        ),
    ),
    lambda answers: f"not needed, {len([r for r in answers if r.document.name])} found",
)


def raw(path, body, is_stream):
    """A call of a service for which there are no classes here."""
    same = lambda message: message
    if is_stream:
        call = channel.stream_stream(path, request_serializer=same, response_deserializer=same)
        return lambda request, **options: list(call(iter([body]), **options))
    return channel.unary_unary(path, request_serializer=same, response_deserializer=same)


ask("health", raw("/grpc.health.v1.Health/Check", b"", False), b"", lambda answer: "answered")
for version in ("v1", "v1alpha"):
    path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    # list_services
    ask(f"reflection {version}", raw(path, b"\x3a\x00", True), b"", lambda answer: "answered")


def resumed(**members):
    """The kinds of a stream's answers to a target, until the target is current and a snapshot has followed."""
    end = threading.Event()
    target = f.Target(
        query=f.Target.QueryTarget(parent=ROOT, structured_query=collection()), target_id=2, **members
    )

    def requests():
        yield f.ListenRequest(database=DATABASE, add_target=target)
        end.wait(SECONDS)

    answers = calls.listen(requests(), metadata=METADATA, timeout=SECONDS)
    kinds, is_current = [], False
    for answer in answers:
        kind = f.ListenResponse.pb(answer).WhichOneof("response_type")
        kinds.append(answer.target_change.target_change_type.name if kind == "target_change" else kind)
        is_current = is_current or kinds[-1] == "CURRENT"
        if is_current and kinds[-1] == "NO_CHANGE":
            break
    end.set()
    return kinds


kinds = resumed(read_time=first, expected_count=wrappers_pb2.Int32Value(value=77))
print(f"a resumed target: {kinds.count('document_change')} documents, {kinds.count('filter')} filters")
