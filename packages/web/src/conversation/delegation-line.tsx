import type { components, ShownMessage } from '@uswarm/client';
import { Link } from 'wouter';
import { panel } from '../session/pages.js';
import { Icon } from '../ui/icon.js';
import { ui } from '../ui/ui.js';
import styles from './message.module.css';
import { State } from './tool-lines.js';

type Content = components['schemas']['DelegationContent'];

/** A task from one agent to another. Its own tasks are indented. */
export function DelegationLine({ shown, content }: { shown: ShownMessage; content: Content }) {
  const turn = shown.message?.turn_id;
  return (
    <div className={ui('card', styles['beside'])}>
      <State state={content.status} />
      <p>
        <strong>{content.from?.name ?? 'An agent'}</strong>
        <Icon name="arrow" size={13} />
        <strong>{content.to?.name ?? 'a former agent'}</strong>
        <span className={ui('block lead')}>{content.task_preview}</span>
      </p>
      {turn !== undefined && (
        <Link className={ui('more')} href={panel.timeline(turn)}>
          Steps
        </Link>
      )}
    </div>
  );
}
