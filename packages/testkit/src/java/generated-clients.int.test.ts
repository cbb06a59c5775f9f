import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { buildOpenApi } from '@uswarm/contract/documents';
import { type ApiDocument, LATER, valuesOfLaterReleases } from '../clients/values-of-later-releases.js';
import { describeWith } from '../parts.js';
import { cachedBuild } from './cached-build.js';
import { compileKotlin, generateClient, runKotlin } from './client-generator.js';

type JsonObject = Record<string, unknown>;

const configuration = (name: string): string =>
  join(import.meta.dirname, '../../../contract/client-generators', `${name}.json`);
const programs = ['DecodeMessages.kt', 'DecodeUnknownValues.kt'].map((name) =>
  join(import.meta.dirname, '../../kotlin', name),
);
/** A generator template: the part of a configuration that is not in its file. */
const template = (name: string): string => join(import.meta.dirname, '../../../contract/client-generators', name);

const openApi = JSON.parse(JSON.stringify(buildOpenApi())) as ApiDocument;

/** The example response of `listMessages`: one message per content type. */
const shownPage = (() => {
  const path = openApi.paths['/v1/workspaces/{workspaceId}/conversations/{id}/messages'] as unknown as {
    get: { responses: { 200: { content: { 'application/json': { example: { data: { content: JsonObject }[] } } } } } };
  };
  return path.get.responses[200].content['application/json'].example;
})();
const shownContents = shownPage.data.map(({ content }) => content);

/** The content types and their schema names. */
const mapping = (
  openApi.components.schemas['MessageContent'] as unknown as { discriminator: { mapping: Record<string, string> } }
).discriminator.mapping;

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
  let classes: string;
  beforeAll(async () => {
    const options = configuration('kotlin');
    const files = [options, template('kotlin/oneof_class.mustache'), ...programs];
    const inputs = [JSON.stringify(openApi), ...(await Promise.all(files.map((file) => readFile(file, 'utf8'))))];
    classes = await cachedBuild('kotlin-client', inputs, async (built) => {
      const target = join(folder, 'kotlin');
      await generateClient({ document, configuration: options, target });
      await compileKotlin({ sources: [join(target, 'src/main/kotlin'), ...programs], target: built });
    });
    const page = join(folder, 'page.json');
    await writeFile(page, JSON.stringify(shownPage));
    decoded = JSON.parse(await runKotlin(classes, 'DecodeMessagesKt', [page])) as typeof decoded;
  });

  it('has classes with the names of schemas only', async () => {
    const found = await readdir(join(classes, 'org/openapitools/client/models'));
    const outer = found.filter((file) => !file.includes('$')).map((file) => file.replace(/\.class$/, ''));
    const named = new Set(Object.keys(openApi.components.schemas));
    expect(outer.filter((name) => !named.has(name.replace(/Serializer$/, '')))).toEqual([]);
    expect(outer).toContain('AgentToolEnvelope');
  });

  it('decodes the responses of later releases: unknown values of all lists, fields, and types of content', async () => {
    const later = valuesOfLaterReleases(openApi);
    const file = join(folder, 'later.json');
    await writeFile(file, JSON.stringify(later));
    const again = JSON.parse(await runKotlin(classes, 'DecodeUnknownValuesKt', [file])) as unknown[];
    expect(again).toHaveLength(later.length);
    const counted = again.map((value, index) => ({
      schema: later[index]!.schema,
      unknown: JSON.stringify(value).split('unknown_default_open_api').length - 1,
    }));
    expect(counted).toEqual(later.map(({ schema, unknown }) => ({ schema, unknown })));
    const pages = again.filter((_, index) => later[index]!.schema === 'MessagePage') as (typeof shownPage)[];
    const page = pages.findLast(({ data }) => data.length === shownPage.data.length)!;
    expect(page.data.map(({ content }) => content)).toEqual(
      shownPage.data.map(() => ({ type: LATER, text: 'The words of a later release.' })),
    );
  });

  it('compiles and decodes each content type into its class', () => {
    expect(new Set(shownContents.map(({ type }) => type))).toEqual(new Set(Object.keys(mapping)));
    expect(decoded.map(({ own }) => own)).toEqual(shownContents.map(ownField));
  });

  it('encodes each content as in the example', () => {
    // Kotlin writes null for absent fields.
    const written = decoded.map(({ again }, index) =>
      Object.fromEntries(
        Object.entries(again).filter(([key, value]) => value !== null || key in shownContents[index]!),
      ),
    );
    expect(written).toEqual(shownContents);
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
    const files = [options, template('swift6/modelOneOf.mustache')];
    const inputs = [JSON.stringify(openApi), ...(await Promise.all(files.map((file) => readFile(file, 'utf8'))))];
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
    const fields = [...source.matchAll(/public var (\w+):[^{\n]*$/gm)].map(([, field]) => field);
    expect(fields).toEqual(Object.keys(properties).map(camelCase));
  });

  it('has a case for types of content of later releases', () => {
    expect(sources.get('MessageContent.swift')).toMatch(
      /default:\s+self = \.typeUnknownContent\(try UnknownContent\(from: decoder\)\)/,
    );
  });

  it('has a case for unknown values in every enum', () => {
    const enums = [...sources].flatMap(([file, text]) =>
      [...text.matchAll(/enum (\w+): String, [^{]*CaseIterable[^{]*\{([^}]*)\}/g)]
        .filter(([, name]) => name !== 'CodingKeys')
        .map(([, name, cases]) => ({ place: `${file} ${name}`, cases: cases ?? '' })),
    );
    expect(enums.length).toBeGreaterThan(30);
    expect(enums.filter(({ cases }) => !cases.includes('case unknownDefaultOpenApi'))).toEqual([]);
  });

  it('has no class that the generator had to name', () => {
    expect(anonymous([...sources.keys()])).toEqual([]);
  });
});

/** Class files for schemas without a name, and for avoidable unions. */
function anonymous(files: readonly string[]): string[] {
  return files.filter((file) => /OneOf|AnyOf|Inline|Inner\.|\d\d\dResponse\./.test(file));
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
