import { useEffect, useState, type ReactNode } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import { pages } from '../session/pages.js';
import { Boundary } from '../ui/boundary.js';
import { Icon } from '../ui/icon.js';
import { onFirstNotice } from '../ui/notify.js';
import { part } from '../ui/part.js';
import { Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { Header } from './header.js';
import styles from './layout.module.css';
import { LINKS } from './menus.js';

const Toaster = part(() => import('../ui/toaster.js'));

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
  const [place] = useLocation();
  const query = useSearch();
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
        <Boundary waiting={<Waiting label="Loading the screen" />} of={place}>
          {children}
        </Boundary>
      </main>
      {panel && (
        <aside className={styles['panel']} aria-label="Details">
          <Boundary waiting={<Waiting label="Loading the details" />} of={query}>
            {panel}
          </Boundary>
        </aside>
      )}
      <Boundary instead={null}>{hasNotice && <Toaster />}</Boundary>
    </div>
  );
}

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
