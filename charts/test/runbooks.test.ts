import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseCtlArguments } from '@uswarm/cli/ctl-arguments';
import { allDocumentedMetrics, askPrometheus, describeWith } from '@uswarm/testkit';
import { parse } from 'yaml';
import { misused } from './support/monitoring/promql.js';
import { CHART, evaluation, modelProvider, render, repositoryFile } from './support/rendering.js';
import { valueAt } from './support/value-paths.js';

const FOLDER = repositoryFile('docs/runbooks');
/** A release with all components. */
const VALUES = { ...evaluation, ...modelProvider };
const HEADINGS = ['Meaning', 'Impact', 'Diagnosis', 'Mitigation'];

let runbooks: Map<string, string>;
let alerts: Set<string>;
beforeAll(async () => {
  const files = (await readdir(FOLDER)).filter((file) => file !== 'README.md');
  const read = async (file: string): Promise<[string, string]> => [
    path.basename(file, '.md'),
    await readFile(`${FOLDER}/${file}`, 'utf8'),
  ];
  runbooks = new Map(await Promise.all(files.map(read)));
  const rules = await readdir(`${CHART}/alerts`);
  const texts = await Promise.all(rules.map((file) => readFile(`${CHART}/alerts/${file}`, 'utf8')));
  alerts = new Set(texts.flatMap((text) => (parse(text) as { alert: string }[]).map(({ alert }) => alert)));
});

/** The lines in a language's fences. A line that ends in \ is joined with the next. */
const fenced = (language: string, text: string): string[] =>
  text
    .split(/^```/m)
    .filter((block) => block.startsWith(`${language}\n`))
    .flatMap((block) =>
      block
        .slice(language.length)
        .replaceAll(/\\\n\s*/g, ' ')
        .split('\n')
        .filter((line) => line !== ''),
    );
const commandsOf = (text: string): string[] => fenced('sh', text);

describe('runbooks', () => {
  it('match the alerts one to one', async () => {
    expect([...runbooks.keys()].toSorted()).toEqual([...alerts].toSorted());
  });

  it('are all linked in README.md', async () => {
    const list = await readFile(`${FOLDER}/README.md`, 'utf8');
    const linked = [...list.matchAll(/\[`(\w+)`\]\((\w+)\.md\)/g)];
    expect(linked.map(([, name]) => name).toSorted()).toEqual([...alerts].toSorted());
    for (const [, name, target] of linked) expect(target).toBe(name);
  });

  it('have the headings Meaning, Impact, Diagnosis and Mitigation, and at least one command', () => {
    for (const [name, text] of runbooks) {
      const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
      const title = text.split('\n')[0];
      const hasCommands = commandsOf(text).length > 0;
      expect({ title, headings, hasCommands }).toEqual({ title: `# ${name}`, headings: HEADINGS, hasCommands: true });
    }
  });

  it('name only existing metrics', () => {
    const known = new Set(allDocumentedMetrics().map(({ name }) => name));
    for (const [name, text] of runbooks) {
      const named = [...text.matchAll(/\buswarm_\w+/g)].map(([metric]) => metric.replace(/_(count|sum|bucket)$/, ''));
      expect({ name, unknown: named.filter((metric) => !known.has(metric)) }).toEqual({ name, unknown: [] });
    }
  });

  it('name only objects that the chart creates', async () => {
    const manifests = await render(VALUES);
    const made = new Set(manifests.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`));
    for (const [name, text] of runbooks) {
      const named = commandsOf(text).flatMap((line) =>
        [...line.matchAll(/\b(deployment|service|secret|configmap)\/([a-z][a-z0-9-]*)/g)].map(([object]) => object),
      );
      expect({ name, unknown: named.filter((object) => !made.has(object)) }).toEqual({ name, unknown: [] });
    }
  });

  it('select only components of the chart', async () => {
    const labels = (await render(VALUES)).map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component']);
    for (const [name, text] of runbooks) {
      const named = [...text.matchAll(/app\.kubernetes\.io\/component=([a-z-]+)/g)].map(([, component]) => component);
      expect({ name, unknown: named.filter((component) => !labels.includes(component)) }).toEqual({
        name,
        unknown: [],
      });
    }
  });

  it('set only existing values', async () => {
    const values = parse(await readFile(`${CHART}/values.yaml`, 'utf8')) as Record<string, object>;
    const roots = Object.keys(values).join('|');
    for (const [name, text] of runbooks) {
      const set = [...text.matchAll(/--set ([\w.]+)=/g)].map(([, value]) => value!);
      const mentioned = [...text.matchAll(new RegExp(`\`((?:${roots})\\.[\\w.]+)\``, 'g'))].map(([, value]) => value!);
      const unknown = [...set, ...mentioned].filter((value) => valueAt(values, value) === undefined);
      expect({ name, unknown: unknown.filter((value) => value !== 'gateway.resources.limits.memory') }).toEqual({
        name,
        unknown: [],
      });
    }
  });

  it('upgrade with --reset-then-reuse-values', () => {
    const upgrades = [...runbooks].flatMap(([name, text]) =>
      commandsOf(text)
        .filter((line) => line.startsWith('helm upgrade '))
        .map((line) => ({ name, line })),
    );
    expect(upgrades.length).toBeGreaterThan(10);
    expect(upgrades.filter(({ line }) => !/ --reset-then-reuse-values( |$)/.test(line))).toEqual([]);
  });

  it('use only valid command lines of uswarmctl', () => {
    const commands = [...runbooks].flatMap(([name, text]) =>
      commandsOf(text)
        .filter((line) => line.startsWith('npm run ctl -- '))
        .map((line) => ({ name, line, error: usageErrorOf(line.slice('npm run ctl -- '.length)) })),
    );
    expect(commands.filter(({ error }) => error !== '')).toEqual([]);
    expect(commands.map(({ line }) => line)).toContainEqual(expect.stringMatching(/ turns list( |$)/));
  });
});

/** The usage error that uswarmctl prints for a command line with placeholders such as `<id>`; empty if it is valid. */
function usageErrorOf(line: string): string {
  let stderr = '';
  try {
    parseCtlArguments(line.replaceAll(/[<>]/g, '').split(/ +/), { writeErr: (text) => void (stderr += text) });
  } catch (error) {
    return stderr === '' ? String(error) : stderr;
  }
  return '';
}

describeWith('prometheus', 'the queries of runbooks', () => {
  it('use only documented metrics and labels, and rates only of counters', async () => {
    const asked = [...runbooks].flatMap(([name, text]) => fenced('promql', text).map((query) => ({ name, query })));
    expect(asked.length).toBeGreaterThan(70);
    const { expressions } = await askPrometheus({ expressions: asked.map(({ query }) => query) });
    const documented = allDocumentedMetrics();
    const wrong = asked.flatMap(({ name }, index) =>
      misused(expressions[index]!, documented).map((problem) => `${name}: ${problem}`),
    );
    expect(wrong).toEqual([]);
  });
});
