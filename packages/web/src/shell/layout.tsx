import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { pages } from '../session/pages.js';
import { Icon } from '../ui/icon.js';
import type { IconName } from '../ui/icons.js';
import { onFirstNotice } from '../ui/notify.js';
import { Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { Header } from './header.js';
import styles from './layout.module.css';

const Toaster = lazy(() => import('../ui/toaster.js'));

export interface LayoutProps {
  workspaceId?: string;
  /** The conversation list; screens without a workspace have no side bar. */
  side?: ReactNode;
  panel?: ReactNode;
  /** On phones, the parent screen; without it, phones show the side bar instead of the screen. */
  back?: string;
  children: ReactNode;
}

export function Layout({ workspaceId, side, panel, back, children }: LayoutProps) {
  const [hasNotice, setHasNotice] = useState(false);
  useEffect(() => onFirstNotice(() => setHasNotice(true)), []);
  return (
    <div className={styles['shell']} data-detail={back !== undefined || side === undefined || undefined}>
      <a href="#main" className={ui('button primary', styles['skip'])}>
        Go to the content
      </a>
      <Header workspaceId={workspaceId} back={back} />
      {side !== undefined && workspaceId !== undefined && (
        <aside className={styles['side']} aria-label="Conversations and settings">
          {side}
          <WorkspaceLinks workspaceId={workspaceId} />
        </aside>
      )}
      <main id="main" className={styles['main']} tabIndex={-1}>
        <Suspense fallback={<Waiting label="Loading the screen" />}>{children}</Suspense>
      </main>
      {panel && (
        <aside className={styles['panel']} aria-label="Details">
          <Suspense fallback={<Waiting label="Loading the details" />}>{panel}</Suspense>
        </aside>
      )}
      <Suspense>{hasNotice && <Toaster />}</Suspense>
    </div>
  );
}

const LINKS: readonly [path: 'agents' | 'connections' | 'usage' | 'receipts', label: string, icon: IconName][] = [
  ['agents', 'Agents', 'agents'],
  ['connections', 'Connections', 'link'],
  ['usage', 'Usage', 'chart'],
  ['receipts', 'Receipts', 'receipt'],
];

function WorkspaceLinks({ workspaceId }: { workspaceId: string }) {
  const [location] = useLocation();
  return (
    <nav className={styles['nav']} aria-label="Workspace">
      {LINKS.map(([path, label, icon]) => {
        const href = pages[path](workspaceId);
        return (
          <Link key={path} href={href} className={ui('item')} aria-current={location === href ? 'page' : undefined}>
            <Icon name={icon} size={16} />
            {label}
          </Link>
        );
      })}
    </nav>
  );
}

const Waiting = ({ label }: { label: string }) => (
  <div className={ui('center')}>
    <Spinner label={label} />
  </div>
);
