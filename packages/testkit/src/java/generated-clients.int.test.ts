import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { buildOpenApi } from '@uswarm/contract/documents';
import { describeWith } from '../parts.js';
import { cachedBuild } from './cached-build.js';
import { compileKotlin, generateClient, runKotlin } from './client-generator.js';

type JsonObject = Record<string, unknown>;

const configuration = (name: string): string =>
  join(import.meta.dirname, '../../../contract/client-generators', `${name}.json`);
const program = join(import.meta.dirname, '../../kotlin/DecodeMessages.kt');

const openApi = JSON.parse(JSON.stringify(buildOpenApi())) as {
  paths: JsonObject;
  components: { schemas: JsonObject };
};

/** The example response of `listMessages`: one message per content type. */
const shownPage = (() => {
  const path = openApi.paths['/v1/workspaces/{workspaceId}/conversations/{id}/messages'] as {
    get: { responses: { 200: { content: { 'application/json': { example: { data: { content: JsonObject }[] } } } } } };
  };
  return path.get.responses[200].content['application/json'].example;
})();
const shownContents = shownPage.data.map(({ content }) => content);

/** The content types and their schema names. */
const mapping = (openApi.components.schemas['MessageContent'] as { discriminator: { mapping: Record<string, string> } })
  .discriminator.mapping;

let folder: string;
let document: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-clients-'));
  document = join(folder, 'openapi.json');
  await writeFile(document, JSON.stringify(openApi));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describeWith('java', 'a Kotlin client generated from openapi.json', () => {
  let decoded: { own: string; again: JsonObject }[];
  beforeAll(async () => {
    const options = configuration('kotlin');
    const inputs = [await readFile(options, 'utf8'), JSON.stringify(openApi), await readFile(program, 'utf8')];
    const classes = await cachedBuild('kotlin-client', inputs, async (built) => {
      const target = join(folder, 'kotlin');
      await generateClient({ document, configuration: options, target });
      await compileKotlin({ sources: [join(target, 'src/main/kotlin'), program], target: built });
    });
    const page = join(folder, 'page.json');
    await writeFile(page, JSON.stringify(shownPage));
    decoded = JSON.parse(await runKotlin(classes, 'DecodeMessagesKt', [page])) as typeof decoded;
  });

  it('compiles and decodes each content type into its class', () => {
    expect(new Set(shownContents.map(({ type }) => type))).toEqual(new Set(Object.keys(mapping)));
    expect(decoded.map(({ own }) => own)).toEqual(shownContents.map(ownField));
  });

  it('encodes each content as in the example', () => {
    expect(decoded.map(({ again }) => again)).toEqual(shownContents);
  });
});

/** The field that only this type has, or `type`; the Kotlin program uses the same field. */
function ownField(content: JsonObject): unknown {
  const { type, text, actions, tool, task_preview, artifact_id, steps } = content;
  const first = (list: unknown): JsonObject | undefined => (list as JsonObject[] | undefined)?.[0];
  return text ?? first(actions)?.['label'] ?? tool ?? task_preview ?? artifact_id ?? first(steps)?.['name'] ?? type;
}

describeWith('java', 'a Swift client generated from openapi.json', () => {
  const sources = new Map<string, string>();
  beforeAll(async () => {
    const options = configuration('swift6');
    const inputs = [await readFile(options, 'utf8'), JSON.stringify(openApi)];
    const target = await cachedBuild('swift-client', inputs, (built) =>
      generateClient({ document, configuration: options, target: built }),
    );
    const models = join(target, 'Sources/Uswarm/Models');
    for (const file of await readdir(models)) sources.set(file, await readFile(join(models, file), 'utf8'));
  });

  it('has an enum for the message content with one case per type', () => {
    const content = sources.get('MessageContent.swift') ?? '';
    expect(content).toContain('public enum MessageContent');
    const classes = Object.entries(mapping).map(([type, ref]) => [type, ref.split('/').at(-1)]);
    const cases = [...content.matchAll(/case "(\w+)":\s+self = \.\w+\(try (\w+)\(from: decoder\)\)/g)];
    expect(Object.fromEntries(cases.map(([, type, name]) => [type, name]))).toEqual(Object.fromEntries(classes));
  });

  it.each(Object.values(mapping).map((ref) => ref.split('/').at(-1)!))('has the fields of %s in a struct', (name) => {
    const { properties } = openApi.components.schemas[name] as { properties: JsonObject };
    const source = sources.get(`${name}.swift`) ?? '';
    const fields = [...source.matchAll(/public var (\w+):/g)].map(([, field]) => field);
    expect(fields).toEqual(Object.keys(properties).map(camelCase));
  });

  it('has no class for an avoidable union', () => {
    expect([...sources.keys()].filter((file) => /OneOf|AnyOf|InlineObject/.test(file))).toEqual([]);
  });
});

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
