import type { components } from '@uswarm/client';
import { Link } from 'wouter';
import { panel } from '../session/pages.js';
import { Icon } from '../ui/icon.js';
import { Badge } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { beginningOf } from './excerpt.js';
import styles from './message.module.css';

type Content = components['schemas']['ArtifactContent'];

/** A document version that opens beside the conversation. */
export function ArtifactCard({ content }: { content: Content }) {
  const { artifact_id: id, title, version, status, agent_slug: agent, content_preview: preview } = content;
  return (
    <Link href={panel.artifact(id)} className={ui('card', `${styles['beside']} ${styles['narrow']}`)}>
      <span className={ui('symbol large')} aria-hidden>
        <Icon name="document" size={22} />
      </span>
      <span className={ui('stack tight')}>
        <strong>{title}</strong>
        <small>{beginningOf(preview, title)}</small>
        <small>
          Version {version} by @{agent} · <Badge tone={status === 'final' ? 'ok' : 'accent'}>{status}</Badge>
        </small>
      </span>
    </Link>
  );
}
