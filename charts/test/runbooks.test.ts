import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { allDocumentedMetrics, askPrometheus, describeWith } from '@uswarm/testkit';
import { parse } from 'yaml';
import { misused } from './monitoring/promql.js';
import { CHART, evaluation, render, repositoryFile } from './rendering.js';
import { valueAt } from './value-paths.js';

const FOLDER = repositoryFile('docs/runbooks');
const HEADINGS = [
  ['What it means', 'Who notices', 'Look', 'Mend', 'Prevent'],
  ['Meaning', 'Impact', 'Diagnosis', 'Mitigation'],
];

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

/** What is in fences of a language, a line each; a line that ends in \ goes on. */
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
  it('there is one for each alert, and none for anything else', async () => {
    expect([...runbooks.keys()].toSorted()).toEqual([...alerts].toSorted());
  });

  it('the list of them names each, and leads to it', async () => {
    const list = await readFile(`${FOLDER}/README.md`, 'utf8');
    const linked = [...list.matchAll(/\[`(\w+)`\]\((\w+)\.md\)/g)];
    expect(linked.map(([, name]) => name).toSorted()).toEqual([...alerts].toSorted());
    for (const [, name, target] of linked) expect(target).toBe(name);
  });

  it('each says what it means, who notices, how to look, to mend and to prevent', () => {
    for (const [name, text] of runbooks) {
      expect([name, text.split('\n')[0]]).toEqual([name, `# ${name}`]);
      const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
      expect([name, HEADINGS]).toEqual([name, expect.arrayContaining([headings])]);
      expect([name, commandsOf(text).length]).not.toEqual([name, 0]);
    }
  });

  it('name only metrics that there are', () => {
    const known = new Set(allDocumentedMetrics().map(({ name }) => name));
    for (const [name, text] of runbooks) {
      const named = [...text.matchAll(/\buswarm_\w+/g)].map(([metric]) => metric.replace(/_(count|sum|bucket)$/, ''));
      expect([name, named.filter((metric) => !known.has(metric))]).toEqual([name, []]);
    }
  });

  it('name only objects that the chart makes', async () => {
    const manifests = await render(evaluation);
    const made = new Set(manifests.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`));
    for (const [name, text] of runbooks) {
      const named = commandsOf(text).flatMap((line) =>
        [...line.matchAll(/\b(deployment|service|secret|configmap)\/([a-z][a-z0-9-]*)/g)].map(([object]) => object),
      );
      expect([name, named.filter((object) => !made.has(object))]).toEqual([name, []]);
    }
  });

  it('look only at components that the chart has', async () => {
    const labels = (await render(evaluation)).map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component']);
    for (const [name, text] of runbooks) {
      const named = [...text.matchAll(/app\.kubernetes\.io\/component=([a-z-]+)/g)].map(([, component]) => component);
      expect([name, named.filter((component) => !labels.includes(component))]).toEqual([name, []]);
    }
  });

  it('set only values that the chart has', async () => {
    const values = parse(await readFile(`${CHART}/values.yaml`, 'utf8')) as Record<string, object>;
    const roots = Object.keys(values).join('|');
    for (const [name, text] of runbooks) {
      const set = [...text.matchAll(/--set ([\w.]+)=/g)].map(([, value]) => value!);
      const told = [...text.matchAll(new RegExp(`\`((?:${roots})\\.[\\w.]+)\``, 'g'))].map(([, value]) => value!);
      const unknown = [...set, ...told].filter((value) => valueAt(values, value) === undefined);
      expect([name, unknown.filter((value) => value !== 'gateway.resources.limits.memory')]).toEqual([name, []]);
    }
  });

  it('upgrade by the values of the release over the defaults of the chart at hand', () => {
    const upgrades = [...runbooks].flatMap(([name, text]) =>
      commandsOf(text)
        .filter((line) => line.startsWith('helm upgrade '))
        .map((line) => ({ name, line })),
    );
    expect(upgrades.length).toBeGreaterThan(10);
    expect(upgrades.filter(({ line }) => !/ --reset-then-reuse-values( |$)/.test(line))).toEqual([]);
  });

  it('use only commands of uswarmctl that there are', async () => {
    const usage = await readFile(repositoryFile('packages/cli/src/ctl/usage.ts'), 'utf8');
    const known = new Set([...usage.matchAll(/^ {2}([a-z]+(?: [a-z]+)?)(?= |$)/gm)].map(([, command]) => command!));
    const used = [...runbooks].flatMap(([name, text]) =>
      commandsOf(text).flatMap((line) => {
        const command = /npm run ctl -- ([a-z]+(?: [a-z]+)?)/.exec(line)?.[1];
        const fits = command === undefined || known.has(command) || known.has(command.split(' ')[0]!);
        return fits ? [] : [`${name}: ${command}`];
      }),
    );
    expect(used).toEqual([]);
    expect([...runbooks.values()].some((text) => text.includes('npm run ctl -- turns list'))).toBe(true);
  });
});

describeWith('prometheus', 'the queries of runbooks', () => {
  it('ask for metrics and labels that docs/metrics.md has, and take rates of counters only', async () => {
    const asked = [...runbooks].flatMap(([name, text]) => fenced('promql', text).map((query) => ({ name, query })));
    expect(asked.length).toBeGreaterThan(70);
    const { expressions } = await askPrometheus({ expressions: asked.map(({ query }) => query) });
    const documented = allDocumentedMetrics();
    const wrong = asked.flatMap(({ name }, index) =>
      misused(expressions[index]!, documented).map((problem) => `${name}: ${problem}`),
    );
    expect(wrong).toEqual([]);
    // The engine is built here the first time.
  });
});
