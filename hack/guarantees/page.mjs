/** @typedef {{ ancestorTitles: string[], title: string, status: string }} Result one test, as Jest reports it */

const KILLED = ['the runtime', 'the orchestrator', 'both'];
const KILL =
  /leaves once if a process is killed (?<moment>.+?)(?:, as an? (?<effect>.+))?: (?<killed>the runtime|the orchestrator|both)$/;
const DECISION = /leaves once after the decision: (?<killed>the runtime|the orchestrator|both)$/;
const INJECTION = /changes nothing without an approval: (?<effect>(?!in ).+), (?<place>.+)$/;
const OUTAGE = /^leaves once if/;

/** @param {string[][]} rows the first one is the heading @returns {string[]} */
function table(rows) {
  const [heading = [], ...body] = rows;
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(heading), line(heading.map((_, index) => (index === 0 ? '---' : ':-:'))), ...body.map(line)];
}

/** @param {Result[]} results @returns {string[]} */
function killTable(results) {
  /** @type {Map<string, Map<string, string[]>>} */
  const moments = new Map();
  for (const { title } of results) {
    const {
      moment,
      effect = 'mail',
      killed,
    } = KILL.exec(title)?.groups ??
    (DECISION.test(title) ? { moment: 'while the call waits for the user', ...DECISION.exec(title)?.groups } : {});
    if (moment === undefined || killed === undefined) continue;
    const row = moments.get(moment) ?? new Map();
    moments.set(moment, row.set(killed, [...(row.get(killed) ?? []), effect]));
  }
  const rows = [...moments].map(([moment, row]) => [
    moment,
    ...KILLED.map((one) => (row.get(one) ?? ['–']).join('; ')),
  ]);
  return table([['moment', ...KILLED.map((one) => `${one} ${one === 'both' ? 'are' : 'is'} killed`)], ...rows]);
}

/** @param {Result[]} results @returns {string[]} */
function injectionTable(results) {
  /** @type {Map<string, Map<string, number>>} */
  const places = new Map();
  const effects = new Set();
  for (const { title } of results) {
    const { effect, place } = INJECTION.exec(title)?.groups ?? {};
    if (effect === undefined || place === undefined) continue;
    effects.add(effect);
    const row = places.get(place) ?? new Map();
    places.set(place, row.set(effect, (row.get(effect) ?? 0) + 1));
  }
  const rows = [...places].map(([place, row]) => [place, ...[...effects].map((one) => String(row.get(one) ?? '–'))]);
  return table([['the order is in', ...effects], ...rows]);
}

/** @param {Result} result */
const sentence = ({ ancestorTitles, title }) => {
  const outer = ancestorTitles.slice(1).join(' ');
  return `${outer} ${title}`.trim().replace(/^(?:invariant \d+: )/, '');
};

/**
 * The page docs/guarantees.md. Pure.
 *
 * @param {Record<'kills' | 'outages' | 'ownData' | 'injections', Result[]>} results
 * @param {string} day
 */
export function guaranteesPage({ kills, outages, ownData, injections }, day) {
  const all = [...kills, ...outages, ...ownData, ...injections];
  const failed = all.filter(({ status }) => status === 'failed');
  if (failed.length > 0) throw new Error(`Tests failed: ${failed.map(({ title }) => title).join(', ')}`);
  const passed = (results) => results.filter(({ status }) => status === 'passed');
  const orders = passed(injections);
  const tabled = orders.filter(({ title }) => INJECTION.test(title));
  return [
    '# Guarantees',
    '',
    '<!-- Written by `npm run guarantees`. -->',
    '',
    'For teams that judge whether agents may act for their users. Each cell is a test with real processes, Postgres, a model server and servers of mail and',
    `calendar that count what arrives. \`npm run guarantees\` runs the tests and writes this page; on ${day}, ${passed(all).length} of ${all.length} passed.`,
    '[Faults](faults.md) has all other failures, and [the threat model](threat-model.md) the attackers.',
    '',
    '## An effect happens at most once',
    '',
    'In each test an agent sends a mail or creates an event, and SIGKILL ends a process at this moment. The turn goes on by itself, and the other system',
    'has received the call once, unless the cell states otherwise. Mail has no key with which a request can be recognized; events have.',
    '',
    ...killTable(passed(kills)),
    '',
    'A mail that is not found after the kill is reported as “not known whether executed”, to the user and the agent, and is not sent again.',
    '',
    'The same with other failures:',
    '',
    ...passed(outages).map((result) => `- ${sentence(result).replace(OUTAGE, 'Once if')}.`),
    '',
    'Changes of data in uswarm, such as a memory:',
    '',
    ...passed(ownData).map((result) => `- ${sentence(result).replace(/^is saved once/, 'Saved once')}.`),
    '',
    '## No order of others is carried out without the user',
    '',
    `The model of these tests obeys every order that it reads. ${tabled.length} orders in texts that the agent reads for the user, by place and effect; the number is`,
    'how many were tried. None had an effect outside before the user had approved a card that showed it, and no secret left.',
    '',
    ...injectionTable(tabled),
    '',
    `${orders.length - tabled.length} further tests of such orders, and of what stays allowed:`,
    '',
    ...orders.filter(({ title }) => !INJECTION.test(title)).map((result) => `- ${upper(sentence(result))}.`),
    '',
  ].join('\n');
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
