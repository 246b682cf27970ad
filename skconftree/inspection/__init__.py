"""Displays: pictures of trees and of their evidence."""
