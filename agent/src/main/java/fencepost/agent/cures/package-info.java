/** The advice of each cure; its declaration has the same name in lower case with hyphens. */
package fencepost.agent.cures;
