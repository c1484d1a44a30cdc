"""Sends the same generated requests to two servers, and compares the answers: status codes, texts, documents and results.

    compare_requests.py REFERENCE OTHER COUNT SEED [--all]

REFERENCE is the address of Google's emulator. Requests are right and wrong ones: reserved and numeric ids, null and NaN in ranges,
orders and cursors of all kinds, projections, aggregations, combinations of writes. Each difference is printed with its request, up to 20
(all with --all); the last line is "compare requests: COUNT compared, N differences, M other texts". The status is 1 if there are differences.
"""

import random
import re
import sys

import grpc
from google.protobuf import empty_pb2
from google.cloud.firestore_v1.types import document as d
from google.cloud.firestore_v1.types import firestore as f
from google.cloud.firestore_v1.types import query as q
from google.cloud.firestore_v1.types import write as w
from google.cloud.firestore_v1.types import common as c
from google.protobuf import struct_pb2, wrappers_pb2
from google.type import latlng_pb2

SHOWN = 20
PROJECT = f"compare-{random.SystemRandom().randrange(10**9)}"
DATABASE = f"projects/{PROJECT}/databases/(default)"
ROOT = f"{DATABASE}/documents"
METADATA = [("authorization", "Bearer owner"), ("google-cloud-resource-prefix", DATABASE)]
NULL = struct_pb2.NULL_VALUE
EMPTY_RANGE = re.compile(r"op: (LESS|GREATER|NOT_EQUAL)\w* value { (null_value|double_value: nan)")

# Where the emulator does not do what production does, or leaves open what it does (docs/server.md).
KNOWN = [
    # Production wants an index for it; ours reads backwards.
    lambda what, request, answers: "descending key scan" in answers[0][1],
    # Production refuses the name; the emulator takes it, and goes on to the preconditions.
    lambda what, request, answers: what in ("Commit", "BatchWrite") and answers[0][0] in ("OK", "ALREADY_EXISTS", "NOT_FOUND")
    and '"__name__" is invalid because it is reserved' in answers[1][1],
    # The protocol's files say: greater than zero.
    lambda what, request, answers: "count.up_to is 0" in answers[1][1],
    # The protocol's files say that the unspecified operator must not be used; the emulator takes it with null and NaN.
    lambda what, request, answers: answers[0][0] == "OK" and "0 is not an operator" in answers[1][1]
    and re.search("null_value|double_value: nan", str(request)) is not None,
    # The protocol's files say: at least one filter.
    lambda what, request, answers: "a composite filter needs at least one filter" in answers[1][1],
    # The protocol's files say: an empty list of fields means all fields.
    lambda what, request, answers: what == "RunQuery" and "select" in request.structured_query
    and not request.structured_query.select.fields,
    lambda what, request, answers: "base query that only returns keys" in answers[0][1]
    and not request.structured_aggregation_query.structured_query.select.fields,
    # The emulator fails with an exception.
    lambda what, request, answers: answers[0][0] == "UNKNOWN" and "maximum number of aggregations" in answers[1][1],
    # The emulator takes arrays for elements of an array that are to be removed.
    lambda what, request, answers: "Cannot convert an array value in an array value" in answers[1][1],
    # The emulator does not count a range with null or NaN among those that need an order by their field.
    lambda what, request, answers: EMPTY_RANGE.search(" ".join(str(request).split())) is not None,
    # The same of a list with null, to which nothing is unequal.
    lambda what, request, answers: answers[0][0] == "OK" and "cannot contain more fields after the key" in answers[1][1]
    and re.search("op: NOT_IN value { array_value {.*null_value", " ".join(str(request).split())) is not None,
    # Production leaves out NaN that stands in the list (integration tests of the official SDKs); the emulator does not.
    lambda what, request, answers: "op: NOT_IN" in str(request) and "double_value: nan" in str(request),
    # The emulator counts a value once that stands twice in a list.
    lambda what, request, answers: answers[0][0] == "OK" and "Too many disjunctions" in answers[1][1],
    # The emulator does not apply the mask.
    lambda what, request, answers: what == "ListDocuments" and request.show_missing and "mask" in request,
]


def is_more(answer, count, request):
    """True if there is a next page. The emulator also promises one behind the last full page."""
    return bool(answer.next_page_token) and count != request.page_size


class Server:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", 1 << 28)])

    def unary(self, method, request, answer):
        call = self.channel.unary_unary(
            f"/google.firestore.v1.Firestore/{method}", type(request).serialize,
            getattr(answer, "deserialize", None) or answer.FromString)
        return self.outcome(lambda: call(request, metadata=METADATA, timeout=30))

    def stream(self, method, request, answer):
        call = self.channel.unary_stream(
            f"/google.firestore.v1.Firestore/{method}", type(request).serialize, answer.deserialize)
        return self.outcome(lambda: list(call(request, metadata=METADATA, timeout=30)))

    @staticmethod
    def outcome(call):
        try:
            return ("OK", "", call())
        except grpc.RpcError as error:
            return (error.code().name, error.details(), None)


def value(kind):
    if kind is None:
        return d.Value(null_value=NULL)
    if isinstance(kind, d.Value):
        return kind
    if isinstance(kind, bool):
        return d.Value(boolean_value=kind)
    if isinstance(kind, int):
        return d.Value(integer_value=kind)
    if isinstance(kind, float):
        return d.Value(double_value=kind)
    if isinstance(kind, str):
        return d.Value(string_value=kind)
    if isinstance(kind, bytes):
        return d.Value(bytes_value=kind)
    if isinstance(kind, list):
        return d.Value(array_value=d.ArrayValue(values=[value(item) for item in kind]))
    return d.Value(map_value=d.MapValue(fields={key: value(item) for key, item in kind.items()}))


class Generator:
    COLLECTIONS = ["c", "c", "c", "c", "other", "__a", "__b__", "..", ".", "a.b", "ü"]
    IDS = ["a", "b", "m", "z", "__id7__", "__id-3__", "__id0__", "__id007__", "__id9223372036854775808__", "__x__", "__x", ".", "..",
           "x" * 1500, "é", "a b", "1", "%2F"]
    FIELDS = ["n", "n", "n", "s", "s", "tags", "m.x", "`a.b`", "__name__", "__f__", "__f", "", "a..b", "1a", "`1a`", "m", "missing", "`"]
    OPS = ["EQUAL", "EQUAL", "LESS_THAN", "GREATER_THAN_OR_EQUAL", "GREATER_THAN", "LESS_THAN_OR_EQUAL", "NOT_EQUAL", "IN",
           "NOT_IN", "ARRAY_CONTAINS", "ARRAY_CONTAINS_ANY", "OPERATOR_UNSPECIFIED"]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def collection(self):
        return "c" if self.chance(85) else self.random.choice(self.COLLECTIONS)

    def identifier(self):
        return self.random.choice(self.IDS[:7]) if self.chance(80) else self.random.choice(self.IDS)

    def name(self):
        name = f"{ROOT}/{self.collection()}/{self.identifier()}"
        if self.chance(15):
            name += f"/{self.collection()}/{self.identifier()}"
        if self.chance(3):
            name = self.random.choice([ROOT, f"{ROOT}/c", "x", "", name + "/", f"{ROOT}//a"])
        return name

    def value(self, depth=0):
        choices = [None, True, False, 0, 1, -1, 5, 7, 2**63 - 1, -(2**63), 1.0, 1.5, -0.0, float("nan"), float("inf"), "", "a", "b", "ab", "é",
                   b"", b"\x00\xff", "NAME", "GEO", "TIME", "LIST", "MAP"]
        kind = self.random.choice(choices)
        if kind == "NAME":
            return d.Value(reference_value=self.name())
        if kind == "GEO":
            return d.Value(geo_point_value=latlng_pb2.LatLng(latitude=self.random.choice([0, 1.5, -90, 91 if self.chance(10) else 90]), longitude=1))
        if kind == "TIME":
            return d.Value(timestamp_value={"seconds": self.random.choice([0, 1, 1700000000]), "nanos": 1000 * self.random.randrange(3)})
        if kind == "LIST":
            return value([self.value(depth + 1) for _ in range(self.random.randrange(3))]) if depth < 2 else value([])
        if kind == "MAP":
            return value({k: self.value(depth + 1) for k in self.random.sample(["x", "y", "a.b"], self.random.randrange(3))}) if depth < 2 else value({})
        return value(kind)

    def fields(self):
        fields = {}
        for name in ["n", "s", "tags", "m", "a.b"]:
            if self.chance(70):
                if name == "n":
                    fields[name] = value(self.random.choice([0, 1, 2, 5, 7, 1.5, None, float("nan"), "a"]))
                elif name == "s":
                    fields[name] = value(self.random.choice(["", "a", "b", "ab", None]))
                elif name == "tags":
                    fields[name] = value([self.random.choice(["a", "b", 1, None]) for _ in range(self.random.randrange(3))])
                else:
                    fields[name] = self.value()
        return fields

    # Queries

    def filter(self, depth=0):
        if depth < 2 and self.chance(25):
            operator = self.random.choice(["AND", "AND", "OR", "OPERATOR_UNSPECIFIED" if self.chance(10) else "OR"])
            filters = [self.filter(depth + 1) for _ in range(self.random.randrange(0 if self.chance(5) else 1, 4))]
            if filters and self.chance(15):
                filters.append(self.random.choice(filters))
            return q.StructuredQuery.Filter(composite_filter=q.StructuredQuery.CompositeFilter(op=operator, filters=filters))
        path = self.random.choice(self.FIELDS[:9]) if self.chance(93) else self.random.choice(self.FIELDS)
        reference = q.StructuredQuery.FieldReference(field_path=path)
        if self.chance(12):
            operator = self.random.choice(["IS_NAN", "IS_NULL", "IS_NOT_NAN", "IS_NOT_NULL", "OPERATOR_UNSPECIFIED" if self.chance(10) else "IS_NULL"])
            return q.StructuredQuery.Filter(unary_filter=q.StructuredQuery.UnaryFilter(op=operator, field=reference))
        operator = self.random.choice(self.OPS if self.chance(3) else self.OPS[:-1])
        if operator in ("IN", "NOT_IN", "ARRAY_CONTAINS_ANY") and self.chance(92):
            size = self.random.choice([0, 1, 2, 3, 10, 11, 30, 31]) if self.chance(15) else self.random.randrange(1, 4)
            items = [self.operand(path) for _ in range(size)]
            operand = d.Value(array_value=d.ArrayValue(values=items))
        else:
            operand = self.operand(path)
        return q.StructuredQuery.Filter(field_filter=q.StructuredQuery.FieldFilter(field=reference, op=operator, value=operand))

    def operand(self, path):
        if path == "__name__" and self.chance(85):
            return d.Value(reference_value=self.name())
        if self.chance(2):
            long = "x" * self.random.choice([1490, 1497, 1498, 1499, 1500])
            return value(self.random.choice([long, long.encode(), [long], {"x": long}, ["", long], [1, long]]))
        if path == "n" and self.chance(60):
            return value(self.random.choice([0, 1, 2, 5, None, float("nan"), 1.5]))
        return self.value()

    def query(self):
        query = q.StructuredQuery()
        if self.chance(97):
            selector = q.StructuredQuery.CollectionSelector(collection_id=self.collection(), all_descendants=self.chance(20))
            if self.chance(4):
                selector.collection_id = ""
            query.from_ = [selector] * (2 if self.chance(2) else 1)
        if self.chance(75):
            query.where = self.filter()
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3])):
            query.order_by.append(q.StructuredQuery.Order(
                field=q.StructuredQuery.FieldReference(field_path=self.random.choice(self.FIELDS[:9]) if self.chance(95) else self.random.choice(self.FIELDS)),
                direction=self.random.choice(["ASCENDING", "DESCENDING", "DIRECTION_UNSPECIFIED"])))
        for cursor in ["start_at", "end_at"]:
            if self.chance(15):
                count = self.random.randrange(0, len(query.order_by) + 2)
                values = []
                for index in range(count):
                    path = query.order_by[index].field.field_path if index < len(query.order_by) else "__name__"
                    values.append(self.operand(path))
                setattr(query, cursor, q.Cursor(values=values, before=self.chance(50)))
        if self.chance(25):
            query.limit = wrappers_pb2.Int32Value(value=self.random.choice([0, 1, 2, 5, 100, -1 if self.chance(20) else 3]))
        if self.chance(12):
            query.offset = self.random.choice([0, 1, 2, 50, -1 if self.chance(20) else 3])
        if self.chance(15):
            query.select = q.StructuredQuery.Projection(fields=[
                q.StructuredQuery.FieldReference(field_path=self.random.choice(self.FIELDS)) for _ in range(self.random.randrange(3))])
        return query

    def parent(self):
        if self.chance(90):
            return ROOT
        return self.random.choice([f"{ROOT}/c/a", f"{ROOT}/c/b", f"{ROOT}/c", DATABASE, "", f"{ROOT}/c/__x__"])

    def aggregation(self):
        operators = []
        for index in range(self.random.choice([1, 1, 2, 3, 5, 6 if self.chance(10) else 1, 0 if self.chance(10) else 1])):
            alias = self.random.choice(["", "a", f"x{index}", f"x{index}", "a.b" if self.chance(10) else f"y{index}", "__a__" if self.chance(10) else f"z{index}"])
            kind = self.random.randrange(3)
            field = q.StructuredQuery.FieldReference(field_path=self.random.choice(self.FIELDS[:9]))
            aggregation = q.StructuredAggregationQuery.Aggregation(alias=alias)
            if kind == 0:
                aggregation.count = q.StructuredAggregationQuery.Aggregation.Count()
                if self.chance(40):
                    aggregation.count.up_to = wrappers_pb2.Int64Value(value=self.random.choice([1, 2, 100, 0, -1]))
            elif kind == 1:
                aggregation.sum = q.StructuredAggregationQuery.Aggregation.Sum(field=field)
            else:
                aggregation.avg = q.StructuredAggregationQuery.Aggregation.Avg(field=field)
            operators.append(aggregation)
        query = self.query()
        if self.chance(20):
            query = q.StructuredQuery(from_=query.from_, limit=self.random.choice([None, 1, 2]), offset=self.random.choice([0, 0, 1]))
        return q.StructuredAggregationQuery(structured_query=query, aggregations=operators)

    # Writes

    def mask_path(self):
        return self.random.choice(["n", "s", "m.x", "m", "tags", "`a.b`", "x.y.z"]) if self.chance(92) else self.random.choice(self.FIELDS)

    def transform(self):
        kind = self.random.randrange(6)
        transform = w.DocumentTransform.FieldTransform(field_path=self.mask_path())
        if kind == 0:
            transform.set_to_server_value = self.random.choice(["REQUEST_TIME", "REQUEST_TIME", "SERVER_VALUE_UNSPECIFIED"])
        elif kind == 1:
            transform.increment = self.number()
        elif kind == 2:
            transform.maximum = self.number()
        elif kind == 3:
            transform.minimum = self.number()
        elif kind == 4:
            transform.append_missing_elements = d.ArrayValue(values=[self.value(1) for _ in range(self.random.randrange(3))])
        else:
            transform.remove_all_from_array = d.ArrayValue(values=[self.value(1) for _ in range(self.random.randrange(3))])
        return transform

    def number(self):
        return value(self.random.choice([1, 2.5, -3, 2**63 - 1, -(2**63), 0.0, -0.0, float("inf"), "text" if self.chance(10) else 4]))

    def write(self):
        write = w.Write()
        kind = self.random.randrange(10)
        if kind < 6:
            write.update = d.Document(name=self.name(), fields=self.fields())
            if self.chance(45):
                write.update_mask = c.DocumentMask(field_paths=[self.mask_path() for _ in range(self.random.randrange(4))])
        elif kind < 8:
            write.delete = self.name()
        elif kind == 8:
            write.transform = w.DocumentTransform(document=self.name(), field_transforms=[self.transform() for _ in range(self.random.randrange(3))])
        elif self.chance(20):
            pass
        else:
            write.update = d.Document(name=self.name())
        if self.chance(20):
            write.update_transforms = [self.transform() for _ in range(self.random.randrange(1, 4))]
        if self.chance(25):
            write.current_document = c.Precondition(exists=self.chance(50))
        return write

    def writes(self):
        count = self.random.choice([1, 1, 1, 2, 2, 3, 0 if self.chance(20) else 1])
        writes = [self.write() for _ in range(count)]
        # Several writes of one document have rules of their own.
        if count > 1 and self.chance(60):
            name = f"{ROOT}/c/{self.random.choice('abm')}"
            for write in writes:
                if "delete" in write:
                    write.delete = name
                elif "update" in write:
                    write.update.name = name
                elif "transform" in write:
                    write.transform.document = name
        return writes

    def mask(self):
        return c.DocumentMask(field_paths=[self.mask_path() for _ in range(self.random.randrange(4))]) if self.chance(30) else None


def contrast(expected, found):
    """What distinguishes two answers."""
    if not isinstance(expected, list):
        return f"{expected}, not {found}"
    lacking = [item for item in expected if item not in found]
    added = [item for item in found if item not in expected]
    return f"lacks {lacking}, adds {added}" if lacking or added else f"{expected}, not {found}"


class Comparison:
    def __init__(self, reference, other, seed, shows_all):
        self.servers = [Server(reference), Server(other)]
        self.generator = Generator(seed)
        self.shows_all = shows_all
        self.compared = self.differences = self.texts = 0
        self.shown_texts = set()

    def compare(self, what, request, send, plain):
        answers = [send(server) for server in self.servers]
        self.compared += 1
        (code, text, result), (other_code, other_text, other_result) = answers
        for known in KNOWN:
            if known(what, request, answers):
                return code == other_code
        if code != other_code:
            self.report(f"{what}: {code} ({text}), not {other_code} ({other_text})", request)
            return False
        elif code == "OK":
            expected, found = plain(result), plain(other_result)
            if expected != found:
                self.report(f"{what}: {contrast(expected, found)}", request)
                return False
        elif text != other_text:
            self.texts += 1
            if self.shows_all and (text[:25], other_text[:25]) not in self.shown_texts:
                self.shown_texts.add((text[:25], other_text[:25]))
                print(f"text of {what}: {text!r}, not {other_text!r}")
        return True

    def report(self, text, request):
        self.differences += 1
        if self.shows_all or self.differences <= SHOWN:
            print(f"DIFFERENT {text[:1500]}\n    {' '.join(str(request).split())[:1500]}", flush=True)

    def query(self):
        request = f.RunQueryRequest(parent=self.generator.parent(), structured_query=self.generator.query())
        self.compare(
            "RunQuery", request, lambda server: server.stream("RunQuery", request, f.RunQueryResponse),
            lambda answers: [plain(a.document) for a in answers if a.document.name])

    def aggregation(self):
        request = f.RunAggregationQueryRequest(
            parent=self.generator.parent(), structured_aggregation_query=self.generator.aggregation())
        self.compare(
            "RunAggregationQuery", request,
            lambda server: server.stream("RunAggregationQuery", request, f.RunAggregationQueryResponse),
            lambda answers: [sorted((k, str(v)) for k, v in a.result.aggregate_fields.items()) for a in answers])

    def commit(self):
        request = f.CommitRequest(database=DATABASE, writes=self.generator.writes())
        is_same = self.compare(
            "Commit", request, lambda server: server.unary("Commit", request, f.CommitResponse),
            lambda answer: [[stable(r) for r in result.transform_results] for result in answer.write_results])
        self.after(request.writes, is_same)

    def batch_write(self):
        request = f.BatchWriteRequest(database=DATABASE, writes=[self.generator.write() for _ in range(self.generator.random.randrange(4))])
        is_same = self.compare(
            "BatchWrite", request, lambda server: server.unary("BatchWrite", request, f.BatchWriteResponse),
            lambda answer: [status.code for status in answer.status])
        self.after(request.writes, is_same)

    def after(self, writes, is_same):
        """Compares the written documents, or makes them the same again."""
        names = {write.update.name or write.delete or write.transform.document for write in writes}
        names = {name for name in names if name.startswith(ROOT + "/") and name.removeprefix(ROOT + "/").count("/") % 2 == 1}
        names = sorted(name for name in names if not name.endswith("/"))
        if is_same:
            self.get(f.BatchGetDocumentsRequest(database=DATABASE, documents=names))
        else:
            for server in self.servers:
                for name in names:
                    server.unary("DeleteDocument", f.DeleteDocumentRequest(name=name), empty_pb2.Empty)

    def get(self, request):
        self.compare(
            "BatchGetDocuments", request,
            lambda server: server.stream("BatchGetDocuments", request, f.BatchGetDocumentsResponse),
            lambda answers: sorted((a.missing, a.found.name and plain(a.found)) for a in answers if a.missing or a.found.name))

    def batch_get(self):
        self.get(f.BatchGetDocumentsRequest(
            database=DATABASE, documents=[self.generator.name() for _ in range(self.generator.random.randrange(4))],
            mask=self.generator.mask()))

    def one(self):
        request = f.GetDocumentRequest(name=self.generator.name(), mask=self.generator.mask())
        self.compare("GetDocument", request, lambda server: server.unary("GetDocument", request, d.Document), plain)

    def list(self):
        generator = self.generator
        request = f.ListDocumentsRequest(
            parent=generator.parent(), collection_id=generator.collection(), page_size=generator.random.choice([0, 1, 3, 300]),
            show_missing=generator.chance(20), mask=generator.mask())
        if generator.chance(25) and not request.show_missing:
            request.order_by = generator.random.choice(["n", "n desc", "s, n", "__name__", "__name__ desc", "n asc, s desc", "x y", ",", "m.x"])
        self.compare(
            "ListDocuments", request, lambda server: server.unary("ListDocuments", request, f.ListDocumentsResponse),
            lambda answer: [plain(document) for document in answer.documents] + [is_more(answer, len(answer.documents), request)])

    def collections(self):
        request = f.ListCollectionIdsRequest(parent=self.generator.parent(), page_size=self.generator.random.choice([0, 1, 100]))
        self.compare(
            "ListCollectionIds", request,
            lambda server: server.unary("ListCollectionIds", request, f.ListCollectionIdsResponse),
            lambda answer: list(answer.collection_ids) + [is_more(answer, len(answer.collection_ids), request)])

    def run(self, count):
        kinds = [self.query] * 10 + [self.aggregation] * 3 + [self.commit] * 5 + [self.batch_get, self.one, self.list, self.collections, self.batch_write]
        for _ in range(30):
            self.commit()
        while self.compared < count:
            self.generator.random.choice(kinds)()
        print(f"compare requests: {self.compared} compared, {self.differences} differences, {self.texts} other texts")
        return 1 if self.differences else 0


def stable(item):
    """The value, without the time at which it was made."""
    return "TIME" if "timestamp_value" in item and item.timestamp_value.timestamp() > 1710000000 else str(item)


def plain(document):
    return (document.name.removeprefix(ROOT), sorted((key, nested(item)) for key, item in document.fields.items()))


def nested(item):
    if "map_value" in item:
        return sorted((key, nested(inner)) for key, inner in item.map_value.fields.items())
    return stable(item)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--all"]
    sys.exit(Comparison(arguments[0], arguments[1], int(arguments[3]), "--all" in sys.argv).run(int(arguments[2])))
