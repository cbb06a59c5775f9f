import { Fragment, type ReactNode } from 'react';
import { ui } from './ui.js';

interface ItemProps {
  /** Address of a picture before the text. */
  image?: string;
  title?: string;
  /** Heading level. */
  level?: 'h2' | 'h3';
  /** Below the title. */
  children?: ReactNode;
  actions?: ReactNode;
}
/** An entry in `ui('list')`. */
export function Item({ image, title, level: Heading = 'h3', children, actions }: ItemProps) {
  return (
    <li>
      {image !== undefined && <img src={image} alt="" width={24} height={24} />}
      <div className={ui('stack tight body')}>
        {title !== undefined && <Heading>{title}</Heading>}
        {children}
      </div>
      {actions !== undefined && <div className={ui('row')}>{actions}</div>}
    </li>
  );
}

export const Facts = ({ children }: { children: ReactNode }) => <p className={ui('facts')}>{children}</p>;

/** Names with their values. */
export const Pairs = ({ pairs }: { pairs: readonly (readonly [name: ReactNode, value: ReactNode])[] }) => (
  <dl className={ui('pairs')}>
    {pairs.map(([name, value], index) => (
      <Fragment key={index}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </Fragment>
    ))}
  </dl>
);
