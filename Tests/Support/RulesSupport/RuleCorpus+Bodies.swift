extension RuleCorpus {
  /// Declarations within `match /databases/{database}/documents`. The verdict has a letter for each of ``paths``.
  package static let bodies = #"""
    TDDT match /c/{id} { allow get: if true; }
    TDDT match /c/{id} { allow get; }
    TDDT match /c/{id} { allow read; }
    DDDD match /c/{id} { allow write; }
    DDDD match /c/{id} { allow list; }
    TDDT match /c/{id} { allow get, list, read, write, create, update, delete: if true; }
    DDDD match /c/{id} { allow foo: if true; }
    TDDT match /c/{id} { allow foo, get: if true; }
    TDDT match /c/{id} { allow get, get: if true; }
    C match /c/{id} { allow : if true; }
    C match /c/{id} { allow get if true; }
    C match /c/{id} { allow get: true; }
    C match /c/{id} { allow get: if; }
    TDDT match /c/{id} { allow get: if true }
    TDDT match /c/{id} { allow get: if false allow get: if true; }
    TDDT match /c/{id} { allow get: if false; allow get: if true; }
    TDDT match /c/{id} { allow get: if 1/ 0 == 1; allow get: if true; }
    TDDT match /c/{id} { allow get: if true; allow get: if 1/ 0 == 1; }
    TDDD match /c/{id} { allow read: if id == 'x'; }
    DTDD match /c/{id} { match /d/{other} { allow get: if id == 'x' && other == 'y'; } }
    DTDD match /c/{id} { match /d/{id} { allow get: if id == 'y'; } }
    DDDD match /c/{id} { match /d/{id} { allow get: if id == 'x'; } }
    C match /c/{id}/d/{id} { allow get: if true; }
    DTDD match /c/{id}/d/{other} { allow get: if id == 'x' && other == 'y'; }
    TDDD match /c/x { allow get: if true; }
    DDDD match /c/y { allow get: if true; }
    DDDD match /c { allow get: if true; }
    TDDD match /c { match /{id} { allow get: if id == 'x'; } }
    TTTT match /{a=**} { allow get: if true; }
    TTDT match /c/{a=**} { allow get: if true; }
    TTDD match /c/x/{a=**} { allow get: if true; }
    DTDD match /c/x/{a=**} { allow get: if a == /d/y; }
    TTDD match /c/x/{a=**} { allow get: if a is path; }
    DDDD match /c/x/{a=**} { allow get: if a is string; }
    DTDD match /c/x/{a=**} { allow get: if a[0] == 'd'; }
    TDDD match /c/x/{a=**} { allow get: if string(a) == '/'; }
    DDDD match /c/{a=**} { allow get: if a == 'x'; }
    TDDD match /c/{a=**} { allow get: if string(a) == '/x'; }
    TDDD match /c/{a=*} { allow get: if a == 'x'; }
    C match /c/{id=***} { allow get: if true; }
    C match /c/{id=foo} { allow get: if true; }
    DTTD match /{a=**}/d/{y} { allow get: if true; }
    DTDD match /{a=**}/d/{y} { allow get: if a == /c/x; }
    TDDD match /{a=**}/x { allow get: if true; }
    C match /{a=**}/x/{b=**} { allow get: if true; }
    DTTD match /{a=**} { match /d/{y} { allow get: if true; } }
    C match /{a=**} { match /d/{y=**} { allow get: if true; } }
    C match /{a=**}/c/{id=**} { allow get: if true; }
    DDDD match /c/{id=**}/d { allow get: if true; }
    C match /c/{id} { }
    DDDD match /c/{id} { function f() { return true; } }
    C match c/{id} { allow get: if true; }
    C match /c/$(x) { allow get: if true; }
    TDDD match /c/{request} { allow get: if request == 'x'; }
    TDDD match /c/{resource} { allow get: if resource == 'x'; }
    TDDD match /c/{database} { allow get: if database == 'x'; }
    C match /c/{is} { allow get: if true; }
    C match /c/{in} { allow get: if true; }
    C match /c/{match} { allow get: if true; }
    C match /c/{allow} { allow get: if true; }
    C match /c/{let} { allow get: if true; }
    C match /c/{return} { allow get: if true; }
    C match /c/{function} { allow get: if true; }
    C match /c/{math} { allow get: if true; }
    C match /c/{duration} { allow get: if true; }
    C match /c/{timestamp} { allow get: if true; }
    C match /c/{latlng} { allow get: if true; }
    C match /c/{hashing} { allow get: if true; }
    C match /c/{true} { allow get: if true; }
    C match /c/{null} { allow get: if true; }
    C match /c/{if} { allow get: if true; }
    C match /c/{service} { allow get: if true; }
    C match /c/{import} { allow get: if true; }
    C match /c/{rules_version} { allow get: if true; }
    TDDD match /c/{get} { allow get: if get == 'x'; }
    TDDD match /c/{read} { allow get: if read == 'x'; }
    TDDD match /c/{int} { allow get: if int == 'x'; }
    TDDD match /c/{string} { allow get: if string == 'x' && string(1) == '1'; }
    TDDT match /c/{list} { allow get: if [] is list; }
    TDDD match /c/{debug} { allow get: if debug(debug) == 'x'; }
    TDDD match /c/{a$b} { allow get: if a$b == 'x'; }
    TDDD match /c/{_a1} { allow get: if _a1 == 'x'; }
    TDDD match /c/{$a} { allow get: if $a == 'x'; }
    C match /c/{a-b} { allow get: if true; }
    C match /c/{1a} { allow get: if true; }
    C match /c/{é} { allow get: if true; }
    C match /é/{x} { allow get: if true; }
    TDDD match /c/{ id } { allow get: if id == 'x'; }
    TDDD match /c/ {id} { allow get: if id == 'x'; }
    TDDD match /c /{id} { allow get: if id == 'x'; }
    C match / c/{id} { allow get: if id == 'x'; }
    C match /c/{id}/ { allow get: if true; }
    C match / { allow get: if true; }
    TDDT match /c/{id} { allow get: if request.if == 'x' || true; }
    TDDT match /c/{id} { allow get: if {'in': 1}.in == 1 && {'is': 1}.is == 1 && {'true': 1}.true == 1 && {'let': 1}.let == 1; }
    TDDT match /c/{id} { allow get: if {'null': 1}.null == 1 && {'return': 1}.return == 1 && {'match': 1}.match == 1; }
    TDDT function f() { return true; } match /c/{id} { allow get: if f(); }
    TDDT match /c/{id} { allow get: if f(); } function f() { return true; }
    TDDT function f(a) { return a == 1; } match /c/{id} { allow get: if f(1); }
    DDDD function f(a) { return a == 1; } match /c/{id} { allow get: if f(); }
    DDDD function f(a) { return a == 1; } match /c/{id} { allow get: if f(1,2); }
    TDDT function f(a) { return a == 1; } match /c/{id} { allow get: if f(1) && f(2) == false; }
    TDDT function f(a,b,c,d,e,g,h) { return a == 1 && h == 7; } match /c/{id} { allow get: if f(1,2,3,4,5,6,7); }
    C function f(a,b,c,d,e,g,h,i) { return a == 1; } match /c/{id} { allow get: if f(1,2,3,4,5,6,7,8); }
    C function f(a,a) { return a == 1; } match /c/{id} { allow get: if f(1,2); }
    TDDT function f(a) { let x = a; return x == 1; } match /c/{id} { allow get: if f(1); }
    TDDT function f(a) { let x = a; let y = x + 1; return y == 2; } match /c/{id} { allow get: if f(1); }
    DDDD function f(a) { let x = y; let y = 1; return x == 1; } match /c/{id} { allow get: if f(1); }
    C function f(a) { let x = a; let x = 2; return x == 1; } match /c/{id} { allow get: if f(1); }
    C function f(a) { let a = 2; return a == 1; } match /c/{id} { allow get: if f(1); }
    TDDT function f(a) { let x = 1/ 0; return true; } match /c/{id} { allow get: if f(1); }
    TDDT function f(a) { let x = 1/ 0; return x == 1 || true; } match /c/{id} { allow get: if f(1); }
    TDDT function f(a) { return true; } match /c/{id} { allow get: if f(1/ 0); }
    TDDT function f(a) { return a || true; } match /c/{id} { allow get: if f(1/ 0 == 1); }
    C function f() { let a = 1; } match /c/{id} { allow get: if true; }
    TDDT function f() { return true } match /c/{id} { allow get: if f() }
    C function f() { let a = 1 return true } match /c/{id} { allow get: if f() }
    C function f() { return true; return false; } match /c/{id} { allow get: if f(); }
    C function f() { } match /c/{id} { allow get: if true; }
    C function f() { true } match /c/{id} { allow get: if true; }
    C function f { return true; } match /c/{id} { allow get: if true; }
    C function f(1) { return true; } match /c/{id} { allow get: if true; }
    C function f(a,) { return true; } match /c/{id} { allow get: if f(1); }
    C function f() { return f(); } match /c/{id} { allow get: if true; }
    C function f() { return g(); } function g() { return f(); } match /c/{id} { allow get: if true; }
    TDDT function f() { return g(); } function g() { return h(); } function h() { return true; } match /c/{id} { allow get: if f(); }
    C function f() { return true; } function f() { return false; } match /c/{id} { allow get: if f(); }
    C function f() { return true; } function f(a) { return false; } match /c/{id} { allow get: if f(); }
    TDDT function f() { return false; } match /c/{id} { function f() { return true; } allow get: if f(); }
    DDDD function f() { return g(); } match /c/{id} { function g() { return true; } allow get: if f(); }
    DDDD match /d/{x} { function f() { return true; } allow list; } match /c/{id} { allow get: if f(); }
    DDDD function f() { return id == 'x'; } match /c/{id} { allow get: if f(); }
    TDDD match /c/{id} { function f() { return id == 'x'; } allow get: if f(); }
    DTDD match /c/{id} { function f() { return id == 'x'; } match /d/{other} { allow get: if f(); } }
    TDDT function f() { return database == '(default)'; } match /c/{id} { allow get: if f(); }
    TDDT function f(id) { return id == 'q'; } match /c/{id} { allow get: if f('q'); }
    TDDT function f(request) { return request == 'q'; } match /c/{id} { allow get: if f('q'); }
    TDDT function get(a) { return true; } match /c/{id} { allow get: if get(1); }
    TDDT function int(a) { return true; } match /c/{id} { allow get: if int(1); }
    TDDT function debug(a) { return a == 2; } match /c/{id} { allow get: if debug(2); }
    TDDT function math(a) { return true; } match /c/{id} { allow get: if math(1); }
    TDDT function size() { return true; } match /c/{id} { allow get: if size() && 'a'.size() == 1; }
    TDDT function exists(a) { return true; } match /c/{id} { allow get: if exists('q'); }
    TDDT function f(a) { return a.b == 1; } match /c/{id} { allow get: if f({'b': 1}); }
    TDDT function f(a) { return a; } match /c/{id} { allow get: if f(true); }
    TDDT function f(a) { return a; } match /c/{id} { allow get: if f(1) == 1 && f('a').size() == 1; }
    TDDT function f(a) { return a ? 1 : 2; } match /c/{id} { allow get: if f(true) + f(false) == 3; }
    C /* a */ match /c/{id} { // b
    C /* a match /c/{id} { allow get: if true; }
    C match /c/{id} { allow get: if true; } /* a
    TDDT match /c/{id} { allow get: if true /* a */ && /* b */ true; }
    TDDT match /c/{id} { allow get: if true; } // a
    C match /c/{id} { ; allow get: if true; }
    C match /c/{id} { allow get: if true;; }
    C match /c/{id} { allow get: if # ; }
    C match /c/{id} { allow get: if true & true; }
    C match /c/{id} { allow get: if true | true; }
    C match /c/{id} { allow get: if 1 = 1; }
    C match /c/{id} { allow get: if 1 === 1; }
    C match /c/{id} { allow get: if 1 <> 2; }
    C match /c/{id} { allow get: if not true; }
    C match /c/{id} { allow get: if true and true; }
    C match /c/{id} { allow get: if (true; }
    C match /c/{id} { allow get: if true); }
    C match /c/{id} { allow get: if [1; }
    C match /c/{id} { allow get: if {'a':1; }
    C match /c/{id} { allow get: if 'a; }
    C match /c/{id} { allow get: if true ? true; }
    C match /c/{id} { allow get: if true ? : true; }
    C match /c/{id} { allow get: if 1 +; }
    C match /c/{id} { allow get: if * 1; }
    C match /c/{id} { allow get: if a.; }
    C match /c/{id} { allow get: if a.1; }
    C match /c/{id} { allow get: if a[]; }
    C match /c/{id} { allow get: if a[1,2]; }
    C match /c/{id} { allow get: if f(,); }
    DDDD match /c/{id} { allow get: if f(1,); }
    C match /c/{id} { allow get: if f(1 2); }
    C match /c/{id} { allow get: if 'abc'.matches('('); }
    C match /c/{id} { allow get: if id.matches('('); }
    DDDD match /c/{id} { allow get: if id.replace('(', '') == 'x'; }
    TDDT match /c/{id} { allow get: if 'a' is string is bool; }
    C match /c/{id} { allow get: if 1 is; }
    C match /c/{id} { allow get: if (debug)(true); }
    TDDT match /c/{id} { allow get: if debug (true); }
    TDDT match /c/{id} { allow get: if 'a' . size () == 1; }
    TDDT match /c/{id} { allow get: if [1] [0] == 1; }
    TDDT match /c/{id} { allow get: if math . abs(-1) == 1; }
    C match /c/{id} { allow get: if math.abs == 1; }
    C match /c/{id} { allow get: if math['abs'] == 1; }
    C match /c/{id} { allow get: if let == 1; }
    DDDD allow get: if true;
    DDDD allow get;
    C return true;
    C let a = 1;
    C hello
    C match /c/{id} { allow get: if true; } }
    C match /c/{id} { allow get: if true;
    DDDD match /{p=**}/c/{id} { match /d/{e} { allow get: if true; } }
    DTDD match /{p=**}/c/{id}/d/{e} { allow get: if true; }
    TTTT>DDDD match /{p=**}/{x} { match /{y}/{z} { allow get: if true; } }
    TDDT match /{p=**} { match /c/{id} { allow get: if true; } }
    DTDD match /{p=**} { match /c/{id} { match /d/{e} { allow get: if true; } } }
    TDDT match /{p=**}/c/{id} { allow get: if true; match /d/{e} { allow list: if true; } }
    TDDT match /{p=**}/c/{id} { function f() { return true; } allow get: if f(); }
    """#
}
