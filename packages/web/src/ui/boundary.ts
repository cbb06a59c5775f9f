import { Component, createElement, type ReactNode, Suspense } from 'react';
import { NotLoaded } from './not-loaded.js';

interface Props {
  /** Shown while the code of `children` is loaded. */
  waiting?: ReactNode;
  /** Shown after `children` could not be loaded or rendered. Default: a button that loads the page again. */
  instead?: ReactNode;
  /** A new value shows `children` again, because they are others. */
  of?: unknown;
  children: ReactNode;
}

/** Without a boundary, React removes the whole page after a failure anywhere in it. */
export class Boundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };
  static getDerivedStateFromError = () => ({ hasFailed: true });
  override componentDidUpdate({ of }: Props): void {
    if (this.state.hasFailed && of !== this.props.of) this.setState({ hasFailed: false });
  }
  override render(): ReactNode {
    const { waiting, instead = createElement(NotLoaded), children } = this.props;
    return this.state.hasFailed ? instead : createElement(Suspense, { fallback: waiting }, children);
  }
}
