import { z } from 'zod';
import { ArtifactStatus } from '../enums.js';
import { LIMITS } from '../limits.js';
import { Pagination } from './message.js';
import { Id, Timestamp } from './primitives.js';

/** A version of an artifact. It never changes, except that a draft becomes final. */
const version = {
  version: z.int().positive(),
  title: z.string(),
  status: ArtifactStatus,
  agent_slug: z.string().meta({ description: 'The agent that wrote the version.' }),
  content_preview: z
    .string()
    .meta({ description: 'The beginning of the content, as Markdown like the text of a message.' }),
  size: z.int().nonnegative().meta({ description: 'The size of the content in bytes of UTF-8.' }),
  created_at: Timestamp.meta({ description: 'The time at which the version was written.' }),
};

export const ArtifactVersion = z.strictObject(version).meta({ id: 'ArtifactVersion' });
export type ArtifactVersion = z.output<typeof ArtifactVersion>;

const summary = {
  id: Id,
  conversation_id: Id.nullable().meta({
    description: 'The conversation in which the artifact was created; null if it was deleted.',
  }),
  ...version,
};

/** A document that agents write, as its latest version. */
export const ArtifactSummary = z.strictObject(summary).meta({ id: 'ArtifactSummary' });
export type ArtifactSummary = z.output<typeof ArtifactSummary>;

export const ArtifactPage = z
  .strictObject({ data: z.array(ArtifactSummary), pagination: Pagination })
  .meta({ id: 'ArtifactPage' });
export type ArtifactPage = z.output<typeof ArtifactPage>;

/** One version of an artifact with its content. */
export const Artifact = z
  .strictObject({
    ...summary,
    latest_version: z.int().positive(),
    content: z.string().meta({
      description:
        'Untrusted Markdown as the model wrote it. Do not render HTML, and do not load images or links automatically.',
    }),
    versions: z
      .array(ArtifactVersion)
      .max(LIMITS.artifactVersions)
      .meta({ description: 'All versions, newest first.' }),
  })
  .meta({ id: 'Artifact' });
export type Artifact = z.output<typeof Artifact>;
