import { RELEASED_PLATFORMS } from '../images/services.mjs';
import { newestNotes } from '../release/changelog.mjs';
import { RunError } from '../run/run-error.mjs';

/** Artifact Hub's kind of change by heading in CHANGELOG.md. */
const KINDS = {
  Added: 'added',
  Changed: 'changed',
  Renamed: 'changed',
  Deprecated: 'deprecated',
  Removed: 'removed',
  Fixed: 'fixed',
  Security: 'security',
};

/** A minimal UserSwarm. */
const EXAMPLE = {
  apiVersion: 'uswarm.dev/v1alpha1',
  kind: 'UserSwarm',
  metadata: { name: 'workspace-fir' },
  spec: { userId: '0199c3a2-9f4e-7d3a-8a52-3f1e2b6c7d80' },
};

/**
 * Creates the annotations that Artifact Hub shows: changes, images, and the custom resource.
 *
 * @param {object} options
 * @param {string} options.changelog
 * @param {string} options.version its section, or else the unreleased one
 * @param {string} options.rendered manifests with everything enabled
 * @param {string} options.ownPrefix with which this project's images begin, such as `ghcr.io/team/`
 * @param {object} options.crd
 * @param {(value: unknown) => string} options.stringify to YAML
 * @returns {Record<string, string>}
 */
export function chartAnnotations({ changelog, version, rendered, ownPrefix, crd, stringify }) {
  return {
    'artifacthub.io/changes': stringify(changesOf(changelog, version)),
    'artifacthub.io/images': stringify(imagesOf(rendered, ownPrefix)),
    'artifacthub.io/crds': stringify(crdsOf(crd)),
    'artifacthub.io/crdsExamples': stringify([EXAMPLE]),
  };
}

/**
 * Returns one change per changelog entry, with its first sentence.
 *
 * @throws RunError if a heading has no kind
 */
export function changesOf(changelog, version) {
  return newestNotes(changelog, version)
    .split(/^### /m)
    .slice(1)
    .flatMap((part) => {
      const heading = part.slice(0, part.indexOf('\n')).trim();
      const kind = KINDS[heading];
      if (kind === undefined) throw new RunError(`CHANGELOG.md: Artifact Hub has no kind of change for "${heading}".`);
      const entries = part.split(/^- /m).slice(1);
      return entries.map((entry) => ({ kind, description: firstSentence(entry) }));
    });
}

/** Without links and code marks. A dot within a name or number ends no sentence, so a space must follow. */
function firstSentence(markdown) {
  const text = markdown
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*`]/g, '')
    .trim();
  return /^.*?[.](?= |$)/.exec(text)?.[0] ?? text;
}

/** Each image once, by reference. */
export function imagesOf(rendered, ownPrefix) {
  const references = [
    ...[...rendered.matchAll(/^\s*(?:- )?image: ['"]?([^'"\s]+)/gm)].map(([, reference]) => reference),
    // The webhook gets the runtime's image as a setting.
    ...[...rendered.matchAll(/name: SVC_AGENT_RUNTIME_IMAGE\s+value: ['"]?([^'"\s]+)/g)].map(
      ([, reference]) => reference,
    ),
  ];
  return [...new Set(references)].toSorted().map((image) => ({
    name: image.replace(/@.*$/, '').split('/').at(-1).split(':')[0],
    image,
    // Other projects' registries list their platforms.
    ...(image.startsWith(ownPrefix) ? { platforms: RELEASED_PLATFORMS } : {}),
  }));
}

function crdsOf({ metadata, spec }) {
  return spec.versions.map(({ name: version, schema }) => ({
    kind: spec.names.kind,
    version,
    name: metadata.name,
    displayName: spec.names.kind,
    description: schema.openAPIV3Schema.description ?? "A workspace's agent runtime.",
  }));
}
