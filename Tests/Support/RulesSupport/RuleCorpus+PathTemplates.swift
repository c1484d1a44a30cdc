extension RuleCorpus {
  /// Expressions about parts of paths and of other values, and about paths with variables.
  package static let pathTemplates = #"""
    T path('/a/{r=**}/c').bind({'r':/x/y}).r == /x/y
    E path('/a/{r=**}/c').bind({'r':/x/y})[0:2].r == /x/y
    E path('/a/{r=**}/c').bind({'r':/x/y})[0:2].r == /x
    E path('/a/{k}/c').bind({'k':'x'})[0:1].k == 'x'
    E path('/a/{k}/c').bind({'k':'x'})[2:3].k == 'x'
    T path('/a/{k}/c').bind({'k':'x'})[1:2].k == 'x'
    T path('/a/{k}/{j}').bind({'k':'x'}).k == 'x'
    T path('/a/{k}/{j}').bind({'k':'x'})[1] == 'x'
    E path('/a/{k}/{j}').k == 'x'
    T string(path('/a/{k}/c')) == '/a//c'
    F string(path('/a/{k}/c')) == '/a/{k}/c'
    F path('/a/{k}/c') == /a/b/c
    F path('/a/{k}/c') == path('/a/{k}/c')
    E path('/a/{k}/c')[0] == 'a'
    E path('/a/{k}/c')[5] == 'a'
    E path('/a/{k}/c')['0'] == 'a'
    T path('/a/{k}/c') is path
    T (/x/{k}/y)[:] is path
    F (/x/{k}/y)[:] == (/a/b)
    F (/x/{k=**}/y)[:] == (/a/b)
    F (/x/{k}/y)[:] == (/x/{k}/y)
    T (/x/{k}/y)[:][:] is path
    E (/x/{k}/y)[0:] is path
    E (/x/{k}/y)[:][0] == 'x'
    T path('a') != path('{k}/{l}')[:]
    E path('/a/{k}/c')[0:1].bind({'k':'x'}) == /a
    E path('/a/{k}/c').bind({'k':'x'})[0:1].bind({'k':'y'}) == /a
    E path('/a/{k}/c').bind({'k':'x'}).bind({'k':'y'}) == /a/y/c
    F path('/a/{k}/c').bind({'k':'x'}).bind({}) == /a/x/c
    T path('/a/{k}/c').bind({'k':'x'}).bind({}) == /a/c
    E path('/a/{k}/c').bind({'k':'x'})[:].bind({'k':'y'}) == /a/y/c
    F path('/a/{k}/c').bind({'k':'x'})[:].bind({}) == /a/x/c
    E path('/a/{k}/c').bind({'k':'x'})[:2].bind({'k':'y'}) == /a/y
    T path('/a/{k}/c').bind({'k':'x/y'})[1] == 'x/y'
    F path('/a/{k}/c').bind({'k':'x/y'})[1] == 'x'
    E path('/a/{k}/c').bind({'k':''})[1] == ''
    T path('/a/{r=**}/c').bind({'r':/x/y})[1] == 'x'
    F path('/a/{r=**}/c').bind({'r':/x/y})[1] == /x/y
    E path('/a/{r=**}').bind({'r':/x/y})[1:].r == /x/y
    E path('/a/{r=**}').bind({'r':/x/y})[2:].r == /x/y
    E path('/a/{r=**}').bind({'r':/x/y})[1:3].r == /x/y
    E path('/a/{k}/{j}').bind({'k':'x','j':'z'})[0:2].j == 'z'
    E path('/a/{k}/{j}').bind({'k':'x','j':'z'})[1:].a == 'z'
    E path('/a/{k}/{j}').bind({'k':'x','j':'z'})[1:2].bind({'j':'q'}) == /x
    E path('/a/{k}/{j}').bind({'k':'x','j':'z'})[1:2].bind({'k':'q'}) == /q
    T path('/a/{k}/{j}').bind({'k':'x','j':'z'})[1:2] == /x
    T {'a':/a/b/c[0:2]}.a == /a/b
    T /a/b/c[0:2] in [/a/b]
    T path('/a/{k}').bind({'k':'x'}) == path('/a/{j}').bind({'j':'x'})
    T path('/a/{k}').bind({'k':'x'}) == /a/x
    F path('/a/{k}/c').bind({'k':'x/y'}) == /a/x/y/c
    T path('/a/{k}/c').bind({'k':'x/y'})[2] == 'c'
    F path('/a/{k}/c').bind({'k':'x/y'})[2] == 'y'
    T path('/a/{r=**}/c').bind({'r':/x/y}) == /a/x/y/c
    T /a/x/y/c == path('/a/{r=**}/c').bind({'r':/x/y})
    T path('/a/{k}').bind({'k':1}) == /a/1
    T path('/a/{k}').bind({'k':1})[1] == '1'
    F path('/a/{k}').bind({'k':1})[1] == 1
    F path('/a/{k}').bind({'k':1}).k == 1
    T path('/a/{k}').bind({'k':1}).k == '1'
    T path('/a/{k}').bind({'k':1.5}) == path('/a/1.5')
    T path('/a/{k}').bind({'k':true}) == /a/true
    T path('/a/{k}').bind({'k':null}) == path('/a/null')
    F path('/a/{k}').bind({'k':/x}) == /a/x
    F path('/a/{k}').bind({'k':/x/y}) == /a/x/y
    E path('/a/{k}').bind({'k':[1]}) == /a/x
    E path('/a/{r=**}').bind({'r':'x'}) == /a/x
    E path('/a/{r=**}').bind({'r':path('/x/{j}')}) == /a/x
    T path('/a/{r=**}').bind({'r':path('/x/{j}').bind({'j':'q'})}) == /a/x/q
    T path('/a/{r=**}').bind({'r':path('/x/{j}').bind({'j':'q'})}).r == /x/q
    E path('/a/{r=**}').bind({'r':path('/x/{j}').bind({'j':'q'})}).j == 'q'
    T path('/a/{r=**}').bind({'r':path('/x/{j}').bind({'j':'q'})}).bind({}) == /a
    F path('/a/{k}') == path('/a/{k}')
    T path('/a/{k}') != path('/a/{k}')
    T [path('/a/{k}')] == [path('/a/{k}')]
    F path('/a/{k}') in [path('/a/{k}')]
    F [path('/a/{k}'), path('/a/{k}')].toSet().size() == 2
    T [path('/a/{k}'), path('/a/{k}')].toSet().size() == 1
    F [path('/a/{k}')].hasAny([path('/a/{k}')])
    T [/a/b, /a/b].toSet().size() == 1
    T [/a/b].hasAny([/a/b])
    T [/a/x].hasAny([path('/a/{k}').bind({'k':'x'})])
    T [path('/a/{k}').bind({'k':'x'})].hasAny([/a/x])
    T /a/x in [path('/a/{k}').bind({'k':'x'})]
    T path('/a/{k}').bind({'k':'x'}) in [/a/x]
    F {'p':/a/x} == {'p':path('/a/{k}').bind({'k':'x'})}
    F path('/a/{k}') == 1
    F 1 == path('/a/{k}')
    F path('/a/{k}') == null
    F path('/a/{k}').bind({'k':'a%20b'}) == path('/a/a%20b')
    T path('/a/{k}').bind({'k':'a b'}) == path('/a/a%20b')
    E /a/b < /a/c
    E path('/a/{k}/{k}').bind({'k':'x'}) == /a/x/x
    T path('/a/{k=*}').bind({'k':'x'}) == /a/x
    E path('/a/{k=*}/b')[1] == 'x'
    E path('/{k}').bind({}) == path('')
    T string(path('/{k}').bind({})) == '/'
    E path('/{k}').bind({})[0:0] == /a
    F path('/{k}').bind({})[:] == /a
    E path('/{k}').bind({})[0] == 'a'
    E path('/a/{k}').bind({'k':'x'}).bind({'j':'x'}) == /a
    E path('/a/{k}/{j}').bind({'k':'x'}).bind({'j':'x'}) == /a/x
    C /a/b.bind({}) == /a/b
    T (/a/b).bind({}) == /a/b
    E (/a/b).bind({'k':'x'}) == /a/b
    E path('/a/{k}').bind({'k':'x', 'j':'y'}) == /a/x
    F path('/a/{k}').bind({'k':'{j}'}) == path('/a/{j}')
    T path('/a/{k}').bind({'k':'{j}'})[1] == '{j}'
    T string(path('/a/{k}').bind({'k':'{j}'})) == '/a/{j}'
    T path(string(path('/a/{k}').bind({'k':'x'}))) == /a/x
    E path('/a/b')['a'] == 'b'
    E path('/a/b').a == 'b'
    T string(path('/a/b%2fc')) == '/a/b/c'
    T path('/a/b%2fc')[1] == 'b/c'
    F path('/a/b%2fc') == /a/b/c
    F path('/a/{k}').bind({'k':'x%2fy'}) == /a/x/y
    T path('/a/{r=**}').bind({'r':path('/x%2fy')})[1] == 'x/y'
    F path('/a/{r=**}').bind({'r':path('/x%2fy')})[1] == 'x'
    T /a/b[0:1][0:1] == /a
    T (/a/b)[0:1][0] == 'a'
    E path('/a/{k}').bind({'k':'x'}).size() == 2
    T hashing.md5(string(/a/b)) == hashing.md5('/a/b')
    F debug(path('/a/{k}')) == 1
    T string(debug(path('/a/{k}'))) == '/a/'
    F [/a/x] == [path('/a/{k}').bind({'k':'x'})]
    T [/a/x].toSet() == [path('/a/{k}').bind({'k':'x'})].toSet()
    F [/a/x, path('/a/{k}').bind({'k':'x'})].toSet().size() == 2
    T [/a/x].toSet().hasAny([path('/a/{k}').bind({'k':'x'})])
    T /a/x in [path('/a/{k}').bind({'k':'x'})].toSet()
    F [/a/x].toSet().difference([path('/a/{k}').bind({'k':'x'})].toSet()).size() == 1
    F [/a/x].toSet().intersection([path('/a/{k}').bind({'k':'x'})].toSet()).size() == 0
    T [/a/x].removeAll([path('/a/{k}').bind({'k':'x'})]) == []
    T [/a/x].hasOnly([path('/a/{k}').bind({'k':'x'})])
    T [/a/x].hasAll([path('/a/{k}').bind({'k':'x'})])
    F [path('/a/{k}')].hasAll([path('/a/{k}')])
    F [path('/a/{k}')].hasOnly([path('/a/{k}')])
    T [path('/a/{k}')].toSet().hasAny([path('/a/{k}')])
    T path('/a/{k}') in [path('/a/{k}')].toSet()
    F [path('/a/{k}').bind({'k':'x'})] == [path('/a/{j}').bind({'j':'x'})]
    T [path('/a/{k}').bind({'k':'x'})] == [path('/a/{k}').bind({'k':'x'})]
    T [path('/a/{k}').bind({'k':'x'})] == [path('/a/{k=*}').bind({'k':'x'})]
    F [path('/a/{r=**}').bind({'r':/x})] == [/a/x]
    F [path('/a/{r=**}').bind({'r':/x/y})] == [/a/x/y]
    T [path('/a/{r=**}').bind({'r':/x/y})] == [path('/a/{r=**}').bind({'r':/x/y})]
    F [[/a/x]].hasAny([[path('/a/{k}').bind({'k':'x'})]])
    F {'a':/a/x}.diff({'a':path('/a/{k}').bind({'k':'x'})}).changedKeys().size() == 1
    T {'a':/a/x}.diff({'a':path('/a/{k}').bind({'k':'x'})}).changedKeys().size() == 0
    T [path('/a/b')] == [/a/b]
    T [path('/a/{k}').bind({'k':'x'})[:]] == [path('/a/{k}').bind({'k':'x'})]
    E path('/a/{r=**}/{k}')[0] == 'a'
    E path('/a/{r=**}/{r}').bind({'r':'a'})[0] == 'a'
    T path('/{r=**}/{q=**}') is path
    T path('/{r=**}/{q=**}').bind({'r':/a,'q':/b}) == /a/b
    T path('/a/{r=**}').bind({'r':path('/x/{j}').bind({})}) == /a/x
    T path('/a/{r=**}').bind({'r':path('/{j}').bind({})}) == /a
    T path('/a/{r=**}').bind({'r':path('/{j}').bind({})})[:] == /a
    F path('/a/{k}').bind({'k':path('/{j}').bind({})}) == /a
    E path('/a/{k}').bind({'k':b''}) == /a
    F path('/a/{k}').bind({'k':path('/q/{j}')}) == /a
    T path('/a/{k}').bind({'k':path('/q/{j}')})[1] == '/q/'
    T path('/a/{k}').bind({'k':' '})[1] == ' '
    F /a/$('') == /a
    T /a/$(' ')[1] == ' '
    T (/a/$(' '))[1] == ' '
    T (/a/$(''))[1] == ''
    F /a/$('x/y') == /a/x/y
    T (/a/$('x/y'))[1] == 'x/y'
    T /a/$(/x/y) == /a/x/y
    E (/a/$(path('/x/{k}')))[0] == 'a'
    F /a/$(path('/x/{k}')) == /a/x
    T [/a/$(/x/y)] == [/a/x/y]
    T (/a/$('{k}'))[1] == '{k}'
    E /a/$('{k}').bind({'k':'x'}) == /a/x
    E (/a/$('{k}')).bind({'k':'x'}) == /a/x
    F /a/$('{k=**}') == /a/x
    F /a/$('b%20c') == /a/$('b c')
    E path('/a/{k}/{k}') is path
    E path('/a/{k}/{k=**}') is path
    E path('/a/{k=**}/{k=**}') is path
    T path('/a/{r=**}/{q=**}') is path
    T (/a/$(path('/x/{k}'))).bind({'k':'y'}) == /a/x/y
    T (/a/$(path('/x/{k}').bind({'k':'y'}))).k == 'y'
    T (/a/$(path('/x/{k}').bind({'k':'y'}))) == /a/x/y
    F [/a/$(path('/x/{k}').bind({'k':'y'}))] == [/a/x/y]
    E (/a/$(path('/x/{k}')))[0:1] == /a
    T string(/a/$(path('/x/{k}'))) == '/a/x/'
    T /a/$(path('/x/{k}')) is path
    T [/a/$(path('/x/{k}'))] == [/a/$(path('/x/{k}'))]
    E path('/a/{k}').bind({'k':''}) is path
    E path('/a/{r=**}').bind({'r':path('/x/{j}')}) is path
    E path('/a/{k}').bind({'k':'x'}).bind({'k':'x'}) is path
    E (/{k}/$(path('/x/{k}'))) is path
    T (/{k}/$(path('/x/{j}'))).bind({'k':'1','j':'2'}) == path('/1/x/2')
    E (/{k}/$(path('/x/{k}'))).bind({'k':'1'}) == path('/1/x/1')
    T (/a/$(path('/x/{r=**}').bind({'r':/b/c}))).r == /b/c
    T (/a/$(path('/x/{r=**}').bind({'r':/b/c})))[3] == 'c'
    T path('/a/{k}').bind({'k':'x'})['k'] == 'x'
    E path('/a/{k}')['k'] == 'x'
    E path('/a/{k}')['j'] == 'x'
    E path('/a/{k}/{j}').bind({'k':'x'}).j == 'x'
    E 'k' in path('/a/{k}')
    T (/a/{k}/c).bind({'k':'x'}) == /a/x/c
    C (/a/{k}/{k}) is path
    F [path('/a/{k}')] == [path('/a/{j}')]
    F [path('/a/{k=**}')] == [path('/a/{k}')]
    F 1 in [1.0]
    F [1].hasAny([1.0])
    C (/a/{k}/b/{k=**}) is path
    E path('/a/{k}/{k}').bind({}) == /a
    T [][:] == []
    T ''[:] == ''
    E [][0:] == []
    E [][:0] == []
    E path('/{k}').bind({})[0:] == /a
    E path('/{k}').bind({})[:0] == /a
    E path('/{k}').bind({})[:1] == /a
    E path('/{k}').bind({})[1:] == /a
    T /a[0:] == /a
    E /a[:0] == /a
    E /a[1:] == /a
    E /a[1:1] == /a
    T [1][:] == [1]
    E [1][1:] == []
    E 'a'[1:] == ''
    E 'a'[:0] == ''
    E [1][:0] == []
    T [1,2][1:1] == []
    T 'ab'[1:1] == ''
    E 'ab'[0:0] == ''
    T (/a/b)[null:null] == /a/b
    T (/a/b)[null:1] == /a
    T [1,2][null:1] == [1]
    T [1,2][null:null] == [1,2]
    T [][null:null] == []
    F path('/{k}').bind({})[null:null] == /a
    T 'ab'[0:null] == 'ab'
    T ''[null:null] == ''
    """#
}
