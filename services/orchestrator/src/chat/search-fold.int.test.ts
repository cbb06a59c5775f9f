import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertWorkspaces } from '../../test/bulk-data.js';
import { first } from '../../test/test-orchestrator.js';
import { lockSearches, searchMessages } from './search.store.js';

/** Each query finds the message with the text beside it. */
const EQUAL: [kind: string, pairs: [text: string, query: string][]][] = [
  [
    'apostrophes',
    [
      ['I don\u2019t know', "don't"],
      ["I don't know", 'don\u2019t'],
      ['rock \u2018n\u2019 roll', "'n'"],
      ['it\u00b4s', "it's"],
      ['it`s', "it's"],
      ["it's", 'it`s'],
      ['it\u02bcs', "it's"],
      ['Hawai\u02bbi', "hawai'i"],
      ['it\uff07s', "it's"],
      ['it\u2032s', "it's"],
      ['l\u201beau', "l'eau"],
      ['d\u055aArtagnan', "d'artagnan"],
      ['צ\u05f3יפס', "צ'יפס"],
      ['\u2039mot\u203a', "'mot'"],
      ['ka\ua78cat', "ka'at"],
      ['6\u2032 2\u2033', '6\' 2"'],
      ['\u0149', "'n"],
    ],
  ],
  [
    'quotation marks',
    [
      ['say \u201chello\u201d', '"hello"'],
      ['say "hello"', '\u201chello\u201d'],
      ['sag \u201ehallo\u201c', '"hallo"'],
      ['dire \u00abbonjour\u00bb', '"bonjour"'],
      ['\u201fword', '"word'],
      ['\u301dword\u301e', '"word"'],
      ['\uff02word\uff02', '"word"'],
      ['\u275dword\u275e', '"word"'],
      ['צה\u05f4ל', 'צה"ל'],
      ['24\u2033 screen', '24"'],
      ['「word」', '"word"'],
      ['『word』', '｢word｣'],
    ],
  ],
  [
    'dashes',
    [
      ['e\u2011mail', 'e-mail'],
      ['e\u2010mail', 'e-mail'],
      ['e-mail', 'e\u2011mail'],
      ['2024\u20132025', '2024-2025'],
      ['2024-2025', '2024\u20132025'],
      ['well\u2014known', 'well-known'],
      ['well\u2015known', 'well-known'],
      ['555\u20121234', '555-1234'],
      ['\u22125 degrees', '-5'],
      ['x\u207b\u00b9', 'x-1'],
      ['a\uff0db', 'a-b'],
      ['a\ufe63b', 'a-b'],
      ['תל\u05beאביב', 'תל-אביב'],
      ['from A \u2013 B', 'A - B'],
      ['wait\u2014what', 'wait--what'],
      ['wait--what', 'wait\u2014what'],
      ['npm test -- --watch', '--watch'],
      ['a \u2014\u2014 b', '--'],
      ['old\u2e5dword', 'old-word'],
    ],
  ],
  [
    'characters without a width',
    [
      ['auto\u00admobil', 'automobil'],
      ['automobil', 'auto\u00admobil'],
      ['zero\u200bwidth', 'zerowidth'],
      ['zerowidth', 'zero\u200bwidth'],
      ['zero\u200cwidth', 'zerowidth'],
      ['zero\u200dwidth', 'zerowidth'],
      ['word\u2060joiner', 'wordjoiner'],
      ['\ufeffstart', 'start'],
      ['grapheme\u034fjoiner', 'graphemejoiner'],
      ['right\u200fto\u200eleft', 'righttoleft'],
      ['\u202aembedded\u202c', 'embedded'],
      ['\u2066isolated\u2069', 'isolated'],
      ['letter\u061cmark', 'lettermark'],
      ['sum\u2062of', 'sumof'],
      ['mongolian\u180eseparator', 'mongolianseparator'],
      ['ᠮ\u180bᠣ', 'ᠮᠣ'],
      ['葛\u{e0100}城', '葛城'],
      ['filled\u3164in', 'filledin'],
      ['filled\u115fin', 'filledin'],
      ['half\uffa0width', 'halfwidth'],
      ['tag\u{e0041}ged', 'tagged'],
      ['cell\u0007bell', 'cellbell'],
      ['object\ufffchere', 'objecthere'],
      ['caf\u0065\u034f\u0301', 'café'],
      ['می\u200cخواهم', 'میخواهم'],
    ],
  ],
  [
    'letter case',
    [
      ['Straße gesperrt', 'strasse'],
      ['Straße gesperrt', 'STRASSE'],
      ['Strasse gesperrt', 'Straße'],
      ['STRASSE', 'straße'],
      ['STRA\u1e9eE', 'strasse'],
      ['STRA\u1e9eE', 'straße'],
      ['\ufb01nal o\ufb03ce', 'final office'],
      ['final office', '\ufb01nal o\ufb03ce'],
      ['\ufb05op', 'stop'],
      ['ΟΔΟΣ', 'οδος'],
      ['οδός', 'ΟΔΌΣ'],
      ['ΤΩ\u0399', 'τῳ'.normalize('NFD').replace('\u0345', 'ι').normalize('NFC')],
      ['τῳ λόγῳ', 'ΤΩΙ ΛΌΓΩΙ'],
      ['ᾼδης', 'αιδης'],
      ['\u01c5ep', 'ǆep'],
      ['\u01c5ep', 'Ǆep'],
      ['\u01f0', 'J\u030c'],
      ['\u0390', '\u03aa\u0301'],
      ['\u13a0\u13a1', '\uab70\uab71'],
      ['\uab70', '\u13a0'],
      ['\u1c80', 'В'],
      ['\u0587', '\u0535\u0552'],
      ['\u212a\u2126', 'kω'],
      ['\u017fee', 'SEE'],
      ['İstanbul', 'istanbul'],
      ['istanbul', 'İSTANBUL'],
      ['İstanbul', 'i\u0307stanbul'],
      ['Işık açık', 'ışık'],
      ['ışık', 'IŞIK'],
    ],
  ],
  [
    'emoji',
    [
      ['I \u2764\ufe0f you', '\u2764'],
      ['I \u2764 you', '\u2764\ufe0f'],
      ['I \u2764\ufe0e you', '\u2764\ufe0f'],
      ['\u263a\ufe0f', '\u263a'],
      ['call \u260e', '\u260e\ufe0f'],
      ['1\ufe0f\u20e3', '1\u20e3'],
      ['#\u20e3', '#\ufe0f\u20e3'],
      ['\u{1f3f3}\ufe0f\u200d\u{1f308}', '\u{1f3f3}\u200d\u{1f308}'],
      ['\u{1f469}\u200d\u2764\ufe0f\u200d\u{1f468}', '\u{1f469}\u200d\u2764\u200d\u{1f468}'],
      ['\u{1f937}\u200d\u2640\ufe0f', '\u{1f937}\u200d\u2640'],
      ['\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'],
      ['\u{1f44d}\u{1f3fd}', '\u{1f44d}'],
      [
        '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
        '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      ],
    ],
  ],
  [
    'spaces',
    [
      ['10\u00a0km', '10 km'],
      ['10 km', '10\u202fkm'],
      ['10\u2009km', '10 km'],
      ['東京\u3000大阪', '東京 大阪'],
      ['東京 大阪', '東京\u3000大阪'],
      ['a\u2003b', 'a b'],
      ['a b', 'a\u1680b'],
      ['a b', 'a\u2028b'],
      ['a b', 'a\u0085b'],
      ['a b', 'a\u2800b'],
    ],
  ],
  [
    'vowel signs and elongations',
    [
      ['السَّلَامُ عَلَيْكُمْ', 'السلام عليكم'],
      ['السلام عليكم', 'السَّلَامُ'],
      ['محـــمد', 'محمد'],
      ['هٰذا', 'هذا'],
      ['שָׁלוֹם', 'שלום'],
      ['שלום', 'שָׁלוֹם'],
      ['\ufb2aלום', 'שלום'],
      ['\ufeb3\ufefc\ufee1', 'سلام'],
    ],
  ],
  [
    'other variants of a character',
    [
      ['\u00bd cup', '1/2'],
      ['wait\u2026', 'wait...'],
      ['10\u223620', '10:20'],
      ['1\u301c2', '1~2'],
      ['1\uff5e2', '1~2'],
      ['5 \u2217 3', '5 * 3'],
      ['ｶﾞｷﾞ', 'ガギ'],
      ['ＡＢＣ', 'abc'],
      ['cafe\u0301', 'café'],
      ['한국', '\u1112\u1161\u11ab\u1100\u116e\u11a8'],
      ['①', '1'],
      ['col\u00b7lega', 'col\u2027lega'],
      ['ㅋㅋㅋㅠㅠ', 'ㅋㅋㅋ'],
      ['ㅋㅋㅋㅠㅠ', 'ㅠㅠ'],
      ['선배ㄳ', '선배'],
    ],
  ],
];

const DIFFERENT: [text: string, query: string][] = [
  ['café', 'cafe'],
  ['cafe', 'café'],
  ['Nguyễn', 'Nguyen'],
  ["don't", 'dont'],
  ['e-mail', 'email'],
  ['ِأحمد', 'احمد'],
  ['가', 'ㄱ'],
  ['\u2764', '\u{1f9e1}'],
  ['"quoted"', "'quoted'"],
  ['हिन्दी', 'हन्द'],
  ['Straße', 'strase'],
];

describe('what a search finds', () => {
  let db: MigratedDatabase;
  let workspaceId: string;
  beforeAll(async () => {
    db = await createMigratedDatabase();
    workspaceId = first(await insertWorkspaces(db.database, 1));
  });
  afterAll(() => db.close());

  /** The places of the found messages in a new conversation with these texts. The index and the scan must agree. */
  async function found(texts: readonly string[], query: string): Promise<number[]> {
    const id = crypto.randomUUID();
    await db.database.insertInto('conversations').values({ id, workspace_id: workspaceId, type: 'swarm' }).execute();
    const rows = texts.map((text, index) => ({
      id: crypto.randomUUID(),
      workspace_id: workspaceId,
      conversation_id: id,
      seq: index + 1,
      role: 'user' as const,
      status: 'sent' as const,
      content: JSON.stringify({ type: 'text', text }),
    }));
    await db.database.insertInto('messages').values(rows).execute();
    const words = await lockSearches(db.database, 'a user', query);
    const [one, other] = await Promise.all(
      [1, 1_000].map((readFirst) => searchMessages(db.database, id, words, 'newer', null, 100, readFirst)),
    );
    expect(one).toEqual(other);
    return words.length === 0 ? [] : (one ?? []).map(({ seq }) => seq);
  }

  const fold = async (text: string): Promise<string> => {
    const { rows } = await sql<{ folded: string }>`SELECT search_fold(${text}) AS folded`.execute(db.database);
    return first(rows).folded;
  };

  describe.each(EQUAL)('variants of %s', (_kind, pairs) => {
    it.each(pairs)('finds %j by %j', async (text, query) => {
      expect(await found(['something else', text], query)).toEqual([2]);
    });
  });

  it.each(DIFFERENT)('does not find %j by %j', async (text, query) => {
    expect(await found([text], query)).toEqual([]);
  });

  it.each(['\u200b', '\u00ad\u2060', '\ufe0f', '\u0640', '\u00a0\u3000'])(
    'takes the query %j, which has no visible characters, as blank',
    async (query) => {
      expect(await lockSearches(db.database, 'a user', query)).toEqual([]);
    },
  );

  /** Ways to write the same text. */
  const VARIATIONS: ((text: string) => string)[] = [
    (text) => text.toUpperCase(),
    (text) => text.toLowerCase(),
    (text) => text.normalize('NFD'),
    (text) => text.normalize('NFC'),
    (text) => text.replaceAll("'", '\u2019'),
    (text) => text.replaceAll('"', '\u201c'),
    (text) => text.replaceAll('-', '\u2011'),
    (text) => [...text].join('\u200b'),
    (text) => [...text].join('\u00ad'),
    (text) => text.replaceAll('\u2764', '\u2764\ufe0f'),
  ];
  const letter = fc.constantFrom(...'abißsſıçéñ\'"-ﬁ ΣσςΆῳЖѣ中ガ한मشא\u2764\u{1f44d}\u{1f3fd}');
  const text = fc.string({ unit: letter, minLength: 1, maxLength: 12 });

  it('finds a text by every variation of it, in any combination', async () => {
    await fc.assert(
      fc.asyncProperty(
        text.filter((value) => value.trim() !== ''),
        fc.array(fc.constantFrom(...VARIATIONS), { maxLength: 4 }),
        async (value, variations) => {
          const varied = variations.reduce((done, vary) => vary(done), value);
          expect({ varied, folded: await fold(varied) }).toEqual({ varied, folded: await fold(value) });
          expect(await found([varied], value)).toEqual([1]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('folds a folded text to itself', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 30 }).filter((value) => !value.includes('\0') && value.isWellFormed()),
        async (value) => {
          const once = await fold(value);
          expect(await fold(once)).toBe(once);
        },
      ),
      { numRuns: 500 },
    );
  });
});
