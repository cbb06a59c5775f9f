import { z } from 'zod';
import { ArtifactStatus } from '../enums.js';
import { LIMITS } from '../limits.js';
import { pagination } from './message.js';
import { Id, Timestamp } from './primitives.js';

/** An artifact version. It never changes, except that a draft becomes final. */
const version = {
  version: z.int().positive().meta({ description: 'Counts from 1 and rises with each change of the document.' }),
  title: z.string().meta({ description: `The heading of this version, up to ${LIMITS.artifactTitle} characters.` }),
  status: ArtifactStatus.meta({ description: 'Whether the agent still works on this version.' }),
  agent_slug: z.string().meta({ description: 'The agent that wrote the version.' }),
  content_preview: z
    .string()
    .meta({ description: 'The beginning of the content, as Markdown like the text of a message.' }),
  size: z.int().nonnegative().meta({ description: 'The size of the content in bytes of UTF-8.' }),
  created_at: Timestamp.meta({ description: 'The time at which the version was written.' }),
};

export const ArtifactVersion = z
  .strictObject(version)
  .meta({ id: 'ArtifactVersion', description: 'One version of a document without its content.' });
export type ArtifactVersion = z.output<typeof ArtifactVersion>;

const summary = {
  id: Id.meta({ description: 'Identifies the document across its versions.' }),
  conversation_id: Id.nullable().meta({
    description: 'The conversation in which the artifact was created; null if it was deleted.',
  }),
  ...version,
};

export const ArtifactSummary = z
  .strictObject(summary)
  .meta({ id: 'ArtifactSummary', description: 'A document that agents write, as its latest version.' });
export type ArtifactSummary = z.output<typeof ArtifactSummary>;

export const ArtifactPage = z
  .strictObject({
    data: z.array(ArtifactSummary).meta({ description: 'The documents of this page, last changed first.' }),
    pagination,
  })
  .meta({ id: 'ArtifactPage', description: 'A part of the documents of a workspace.' });
export type ArtifactPage = z.output<typeof ArtifactPage>;

export const Artifact = z
  .strictObject({
    ...summary,
    latest_version: z.int().positive().meta({ description: 'The highest `version`; the present one may be older.' }),
    content: z.string().meta({
      description:
        'Untrusted Markdown as the model wrote it. Do not render HTML, and do not load images or links automatically.',
    }),
    versions: z
      .array(ArtifactVersion)
      .max(LIMITS.artifactVersions)
      .meta({ description: 'All versions, newest first.' }),
  })
  .meta({ id: 'Artifact', description: 'One version of a document with its content.' });
export type Artifact = z.output<typeof Artifact>;
