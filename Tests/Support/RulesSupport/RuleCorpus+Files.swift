extension RuleCorpus {
  /// Whole files. The verdict has a letter for each of ``paths``.
  package static let files = #"""
    TDDT service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    TDDT rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    TDDT rules_version = '2'; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    TDDT rules_version = "2"; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    C rules_version = '3'; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    TDDT rules_version = '2' service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    C rules_version = 2; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    C rules_version='2';rules_version='2'; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    C service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } } rules_version = '2';
    C service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } } service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    TDDT service firebase.storage { match /b/{bucket}/o { match /{a=**} { allow read; } } } service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    DDDD service firebase.storage { match /b/{bucket}/o { match /{a=**} { allow read; } } }
    DDDD service foo.bar { match /databases/{database}/documents { match /{a=**} { allow read; } } }
    C service cloud.firestore { }
    C service cloud.firestore { match /databases/{database}/documents { } }
    DDDD service cloud { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    DDDD service cloud.firestore.foo { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    C service { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    TDDT rules_version='2'; function f() { return true; } service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if f(); } } }
    TDDT rules_version='2'; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if f(); } } } function f() { return true; }
    TDDT rules_version='2'; service cloud.firestore { function f() { return true; } match /databases/{database}/documents { match /c/{id} { allow get: if f(); } } }
    DDDD rules_version='2'; function f() { return g(); } service cloud.firestore { function g() { return true; } match /databases/{database}/documents { match /c/{id} { allow get: if f(); } } }
    C match /a/b { allow read; }
    C service cloud.firestore { allow read; }
    C service cloud.firestore { match /databases/{database}/documents { 
    C hello
    C import 'x'; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if true; } } }
    C rules_version = '2';
    DDDD function f() { return true; }
    TTTT rules_version = '2'; service cloud.firestore { match /{a=**} { allow get: if true; } }
    TDDT rules_version = '2'; service cloud.firestore { match /databases/{db}/documents/c/{id} { allow get: if db == '(default)'; } }
    TDDT rules_version = '2'; service cloud.firestore { match /databases/(default)/documents/c/{id} { allow get: if true; } }
    DDDD rules_version = '2'; service cloud.firestore { match /databases/other/documents/c/{id} { allow get: if true; } }
    DDDD rules_version = '2'; service cloud.firestore { match /c/{id} { allow get: if true; } }
    TDDT rules_version = '2'; service cloud.firestore { match /databases/{database}/documents { match /c/{id} { allow get: if false; } } match /databases/{db}/documents { match /c/{id} { allow get: if true; } } }
    TTTT rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { match /{a=**} { allow get: if true; } } }
    TTDT rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { match /c/{a=**} { allow get: if true; } } }
    DTDD rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { match /c/x/{a=**} { allow get: if true; } } }
    TTDT rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { match /c/{a=**} { allow get: if a is path; } } }
    C rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { match /{a=**}/d/{y} { allow get: if true; } } }
    DDDD rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { match /{a=**} { match /d/{y} { allow get: if true; } } } }
    C rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { function f() { let a = 1; return a == 1; } match /c/{id} { allow get: if f(); } } }
    TDDT rules_version = '1'; service cloud.firestore { match /databases/{database}/documents { function f() { return true; } match /c/{id} { allow get: if f(); } } }
    """#
}
