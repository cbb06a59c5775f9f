import { describe, expect, it } from '@jest/globals';
import { row } from '../test/fake-searxng.js';
import { readResponse } from './searxng-response.js';

const down = ['beta', 'timeout'];

describe('unknown fields of a SearXNG response', () => {
  it('TOOL-002: do not change the outcome: answers (objects), infoboxes, suggestions, corrections and new fields', () => {
    const results = [row('tea')];
    const further = {
      query: 'tea',
      number_of_results: 3,
      answers: [
        { answer: 'Tea is a drink', url: 'https://example.com/a', engine: 'alpha', template: 'answer/legacy.html' },
      ],
      corrections: ['teas'],
      infoboxes: [{ infobox: 'Tea', id: 'Q6097', content: 'drink', urls: [], attributes: [], engine: 'wikidata' }],
      suggestions: ['green tea'],
      from_the_future: { any: ['shape'] },
    };
    expect(readResponse({ ...further, results, unresponsive_engines: [] }, 5)).toEqual(readResponse({ results }, 5));
  });

  it.each([null, 'none', {}, [null, 7, [], [7, 'timeout'], {}]])(
    'TOOL-002: unresponsive_engines of an unexpected shape count as none: %j',
    (unresponsive_engines) => {
      expect(readResponse({ results: [row('a')], unresponsive_engines }, 5).status).toBe('ok');
    },
  );
});

describe('an engine that failed', () => {
  it.each([
    [['beta', 'timeout'], 'timeout'],
    [['beta', 'timeout', true], 'timeout'],
    [['beta', null], ''],
    [['beta'], ''],
    ['beta', ''],
    [{ engine: 'beta', reason: 'timeout' }, 'timeout'],
    [{ name: 'beta', error: 'timeout' }, 'timeout'],
    [['<b>beta</b>', 'can&#39;t read'], "can't read"],
  ])('is read from %j', (entry, reason) => {
    const outcome = readResponse({ results: [], unresponsive_engines: [entry] }, 5);
    expect(outcome).toMatchObject({ status: 'upstream_failed', unresponsive_engines: [{ engine: 'beta', reason }] });
  });

  it('is read from an object with the reasons of all engines', () => {
    const outcome = readResponse({ results: [], unresponsive_engines: { beta: 'timeout', gamma: null } }, 5);
    expect(outcome.unresponsive_engines).toEqual([
      { engine: 'beta', reason: 'timeout' },
      { engine: 'gamma', reason: '' },
    ]);
  });

  it('is named with its reason, once per reason', () => {
    const unresponsive_engines = [
      ['bing', 'CAPTCHA'],
      ['duckduckgo', 'timeout'],
      ['mojeek', 'Suspended: too many requests'],
      ['mwmbl', 'access denied'],
      ['yahoo', 'timeout'],
    ];
    expect(readResponse({ results: [row('a')], unresponsive_engines }, 5).notes).toEqual([
      'Not every search engine answered: bing (it asks for a CAPTCHA); duckduckgo, yahoo (timeout); ' +
        'mojeek (paused after failures; the last: too many requests); mwmbl (it refuses access).',
    ]);
  });

  it.each([
    [['HTTP connection error', 'network error', 'Suspended: HTTP connection error'], true],
    [['HTTP connection error', 'timeout'], false],
  ])('is one of several without internet if the reasons are %j', (reasons, offline) => {
    const unresponsive_engines = reasons.map((reason, index) => [`engine ${index}`, reason]);
    const [note] = readResponse({ results: [], unresponsive_engines }, 5).notes;
    expect(note?.includes('SearXNG seems to have no access to the internet.')).toBe(offline);
  });
});

describe('the status of an outcome', () => {
  it('is ok if there are rows and all engines responded', () => {
    expect(readResponse({ results: [row('a')], unresponsive_engines: [] }, 5).status).toBe('ok');
  });

  it('is partial if there are rows and an engine failed, and names that engine', () => {
    const outcome = readResponse({ results: [row('a')], unresponsive_engines: [down] }, 5);
    expect(outcome).toMatchObject({
      status: 'partial',
      unresponsive_engines: [{ engine: 'beta', reason: 'timeout' }],
      notes: ['Not every search engine answered: beta (timeout).'],
    });
  });

  it('TOOL-033: is empty if there are no rows and all engines responded', () => {
    expect(readResponse({ results: [], unresponsive_engines: [] }, 5)).toMatchObject({ status: 'empty', results: [] });
  });

  it('TOOL-033: is upstream_failed with an empty array if there are no rows and an engine failed', () => {
    const outcome = readResponse({ results: [], unresponsive_engines: [down] }, 5);
    expect(outcome).toMatchObject({ status: 'upstream_failed', results: [] });
    expect(outcome.notes.join()).toMatch(/^Inconclusive: .*beta \(timeout\)/);
  });

  it('does not count rows without a usable address', () => {
    const results = [row('a', { url: 'javascript:alert(1)' })];
    expect(readResponse({ results }, 5)).toMatchObject({
      status: 'empty',
      results: [],
      notes: ['1 rows without a usable web address were dropped.'],
    });
  });
});

describe('the rows of an outcome', () => {
  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://example.com/',
    'file:///etc/passwd',
    '/relative',
    '',
    7,
    'https://bank.example@evil.example/',
    `https://example.com/${'a'.repeat(2_048)}`,
  ])('the address %p is left out, and its neighbours stay', (url) => {
    const { results } = readResponse({ results: [row('a'), row('b', { url }), row('c')] }, 5);
    expect(results.map(({ title }) => title)).toEqual(['Title a', 'Title c']);
  });

  it('are plain text, also in addresses', () => {
    const encoded = row('x', {
      title: 'Tom &amp; <b>Jerry</b>',
      content: 'List&lt;String&gt; isn&#39;t a &lt; b',
      engine: 'al&amp;pha',
      url: 'https://example.com/?a=1&amp;b=2',
    });
    expect(readResponse({ results: [encoded] }, 5).results).toEqual([
      {
        title: 'Tom & Jerry',
        snippet: "List<String> isn't a < b",
        engine: 'al&pha',
        url: 'https://example.com/?a=1&b=2',
      },
    ]);
  });

  it('have no line breaks and hidden characters that were encoded', () => {
    const { results } = readResponse({ results: [row('x', { title: 'one&#10;2.&nbsp;two&#x202e;&#8203;' })] }, 5);
    expect(results[0]?.title).toBe('one 2. two');
  });

  it.each([
    ['a title that is a number', { title: 1984 }, { title: '1984' }],
    ['a title that is null', { title: null }, { title: 'example.com' }],
    ['a title that is a list', { title: ['x'] }, { title: 'example.com' }],
    ['an excerpt that is null', { content: null }, { snippet: '' }],
    ['an excerpt that is an object', { content: { text: 'x' } }, { snippet: '' }],
    ['an engine that is null', { engine: null }, { engine: 'alpha' }],
    ['engines that are a text', { engine: '', engines: 'alpha' }, { engine: '' }],
    ['numbers that are texts', { score: '9', positions: 'x' }, { title: 'Title b' }],
  ])('stay with %s, and so do their neighbours', (_, fields, expected) => {
    const { results } = readResponse({ results: [row('a'), row('b', fields), row('c')] }, 5);
    expect(results.map(({ url }) => url)).toEqual(['a', 'b', 'c'].map((name) => `https://example.com/${name}`));
    expect(results[1]).toMatchObject(expected);
  });

  it('are none if the list is null', () => {
    expect(readResponse({ results: null }, 5)).toMatchObject({ status: 'empty', results: [] });
  });

  it('exclude entries that are not objects', () => {
    const { results } = readResponse({ results: [null, 'x', [], row('a')] }, 5);
    expect(results.map(({ title }) => title)).toEqual(['Title a']);
  });

  it('have an empty excerpt if it is missing, and the host as title', () => {
    const { results } = readResponse({ results: [{ url: 'https://example.com/x' }] }, 5);
    expect(results).toEqual([{ title: 'example.com', url: 'https://example.com/x', snippet: '', engine: '' }]);
  });

  it('have truncated titles and excerpts', () => {
    const { results } = readResponse(
      { results: [row('a', { title: 't'.repeat(999), content: 'c'.repeat(9_999) })] },
      5,
    );
    expect(results[0]?.title).toBe(`${'t'.repeat(199)}…`);
    expect(results[0]?.snippet).toBe(`${'c'.repeat(499)}…`);
  });

  it('merge duplicates (scheme, fragment, trailing slash) at the first position, with an excerpt if any has one', () => {
    const { results } = readResponse(
      {
        results: [
          row('first', { url: 'https://example.com/page', content: '' }),
          row('second', { url: 'https://example.com/other' }),
          row('third', { url: 'http://EXAMPLE.com/page/#top', content: 'the excerpt' }),
        ],
      },
      5,
    );
    expect(results.map(({ title, snippet }) => [title, snippet])).toEqual([
      ['Title first', 'the excerpt'],
      ['Title second', 'About second'],
    ]);
  });

  it('TOOL-022: do not count duplicates towards max_results', () => {
    const results = [row('a'), row('a'), row('b'), row('c')];
    expect(readResponse({ results }, 2).results.map(({ title }) => title)).toEqual(['Title a', 'Title b']);
  });
});
