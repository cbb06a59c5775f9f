type JsonObject = Record<string, unknown>;

/** A value that no list of this release has. */
export const LATER = 'added_later';
const LATER_TEXT = 'The words of a later release.';

export interface ApiDocument {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, JsonObject> }> }>>;
  components: { schemas: Record<string, JsonObject>; examples: Record<string, { value: unknown }> };
}

/** A response body from a later release. */
export interface LaterValue {
  /** Schema name, and so the name of the generated class. */
  schema: string;
  value: unknown;
  /** The values that this release does not know, except types of content. */
  unknown: number;
}

const nameOf = (reference: unknown): string => String(reference).split('/').at(-1) ?? '';
const asObject = (value: unknown): JsonObject => value as JsonObject;

/**
 * The example response of each operation, as a later release could send it: first with a value that is not in its list at each
 * place with a list and a further field in each object, then with messages whose content has another type.
 */
export function valuesOfLaterReleases(document: ApiDocument): LaterValue[] {
  const responses = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => Object.entries(operation.responses))
    .filter(([status]) => status < '400')
    .map(([, { content }]) => content?.['application/json'])
    .filter((media) => media !== undefined);
  const examples = responses
    .filter(({ example }) => example !== undefined)
    .map(({ schema, example }) => ({ schema: nameOf(asObject(schema)['$ref']), example }));
  const errors = Object.values(document.components.examples).map(({ value }) => ({ schema: 'Error', example: value }));
  return [...examples, ...errors].flatMap(({ schema, example }) =>
    [false, true].map((replaceContents) => {
      const change = new Change(document, replaceContents);
      const value = change.applied({ $ref: `#/components/schemas/${schema}` }, example);
      return { schema, value, unknown: change.unknown };
    }),
  );
}

class Change {
  unknown = 0;
  readonly #document: ApiDocument;
  readonly #replaceContents: boolean;

  constructor(document: ApiDocument, replaceContents: boolean) {
    this.#document = document;
    this.#replaceContents = replaceContents;
  }

  applied(schema: JsonObject, value: unknown): unknown {
    if (value === null || value === undefined) return value;
    if (schema['$ref'] !== undefined) return this.applied(this.#named(nameOf(schema['$ref'])), value);
    if (Array.isArray(schema['anyOf'])) return this.applied(someOf(schema['anyOf'] as JsonObject[]), value);
    if (schema['discriminator'] !== undefined) return this.#union(schema, asObject(value));
    if (schema['enum'] !== undefined || schema['const'] !== undefined) {
      this.unknown += 1;
      return LATER;
    }
    if (Array.isArray(value)) return value.map((item: unknown) => this.applied(asObject(schema['items']), item));
    if (typeof value !== 'object' || schema['properties'] === undefined) return value;
    return this.#object(asObject(schema['properties']), asObject(value));
  }

  #named(name: string): JsonObject {
    const schema = this.#document.components.schemas[name];
    if (schema === undefined) throw new Error(`the document has no schema ${name}`);
    return schema;
  }

  #union({ discriminator }: JsonObject, value: JsonObject): unknown {
    if (this.#replaceContents) return { type: LATER, text: LATER_TEXT, details: { of: ['a', 'later', 'release'] } };
    const { mapping } = discriminator as { mapping: Record<string, string> };
    const { type } = value;
    const variant = this.#named(nameOf(mapping[String(type)]));
    const { type: _, ...others } = asObject(variant['properties']);
    return { ...asObject(this.#object(others, value)), type };
  }

  #object(properties: JsonObject, value: JsonObject): JsonObject {
    const changed = Object.entries(value).map(([name, field]) => {
      const schema = properties[name];
      return [name, schema === undefined ? field : this.applied(asObject(schema), field)] as const;
    });
    return { ...Object.fromEntries(changed), [LATER]: { a: 1 } };
  }
}

/** The variant that is not null. */
const someOf = (variants: JsonObject[]): JsonObject => variants.find(({ type }) => type !== 'null') ?? {};
