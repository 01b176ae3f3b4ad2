/** Changes single methods of BookKeeper in a running process, and reports every change on stderr. */
package fencepost.agent;
