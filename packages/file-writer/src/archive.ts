import { strFromU8, strToU8, unzipSync, type Zippable, zipSync } from 'fflate';

/** The first moment that a ZIP file can state. */
const MOMENT = new Date(1980, 0, 1);

/** Packs an Office file again without times and random ids, so that the same text gives the same bytes. */
export function withoutRandomness(file: Uint8Array): Uint8Array {
  const ids = new Map<string, string>();
  const idOf = (random: string): string => {
    const id = ids.get(random) ?? `rIdLink${ids.size + 1}`;
    ids.set(random, id);
    return id;
  };
  const parts: Zippable = {};
  const names = unzipSync(file);
  // The text first: it has the ids in its order.
  for (const name of Object.keys(names).toSorted()) {
    const bytes = names[name];
    if (bytes !== undefined)
      parts[name] = [/\.(?:xml|rels)$/.test(name) ? fixed(bytes, idOf) : bytes, { mtime: MOMENT }];
  }
  return zipSync(parts, { mtime: MOMENT });
}

function fixed(part: Uint8Array, idOf: (random: string) => string): Uint8Array {
  const xml = strFromU8(part)
    .replaceAll(/<dcterms:(created|modified)\b.*?<\/dcterms:\1>/gs, '')
    .replaceAll(/(?<=\b(?:r:id|Id)=")rId[\w-]{21}(?=")/g, idOf);
  return strToU8(xml);
}
